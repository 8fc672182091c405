/**
 * The queues of the system, the flow that joins the units of a document again, the janitor's schedule and
 * the alarms, declared once.
 */

import {
  type Alarm,
  alarm,
  defineApp,
  flow,
  type HandlerContext,
  type Mill,
  queue,
  schedule,
} from 'millrace'
import { z } from 'zod'
import type { QueueSettings } from './environment.ts'

const id = z.string().regex(/^[A-Za-z0-9_-]{1,64}$/)
const model = z.string().min(1).max(100)
const document = { documentId: id, organizationId: id, kbId: id }

/** What an upload becomes. */
export const IngestJob = z.strictObject({
  ...document,
  sourceObjectKey: z.string().max(500),
  sourceExt: z.enum(['pdf', 'docx']),
  extractorModel: model,
})
export const ExtractJob = z.strictObject({
  ...document,
  unitId: z.string().regex(/^unit-\d{4,}$/),
  extractorModel: model,
})
export const FinalizeJob = z.strictObject(document)

export type IngestJob = z.infer<typeof IngestJob>
export type ExtractJob = z.infer<typeof ExtractJob>
export type FinalizeJob = z.infer<typeof FinalizeJob>

/** A document that has been pending or ingesting for longer than this is stuck. */
export const stuckAfterMs: number = 40 * 60_000

/** The value that the janitor sets, and the alarm watches. */
export const stuckMetric = 'documents_stuck'

/** Operators hold extraction by the first name, the circuit breaker by the second. */
export const pauseSwitch = 'EXTRACTION_PAUSED'
export const breakerSwitch = 'PROVIDER_DOWN'

export function ingestionApp(settings: QueueSettings) {
  const policy = {
    backoff: { from: { ms: settings.INGESTION_RETRY_MS } },
    retention: '4d',
  } as const
  return defineApp('ingestion', {
    queues: {
      // A lease is renewed while its job runs, so it is short: it says how soon the job of a worker
      // that died is taken up by another. The timeout says how long a job may run.
      ingest: queue({
        ...policy,
        name: 'ingest-jobs',
        schema: IngestJob,
        visibilityTimeout: '2m',
        timeout: '15m',
        deadLetter: { after: 3, name: 'ingest-jobs-dlq' },
      }),
      extract: queue({
        ...policy,
        name: 'extract-jobs',
        schema: ExtractJob,
        visibilityTimeout: '1m',
        timeout: '5m',
        deadLetter: { after: 3, name: 'extract-jobs-dlq' },
        // R: what the provider's limits allow. The rest waits here, and no document fails for it.
        concurrency: settings.EXTRACT_CONCURRENCY,
        obeys: [pauseSwitch, breakerSwitch],
      }),
      finalize: queue({
        ...policy,
        name: 'finalize-jobs',
        schema: FinalizeJob,
        visibilityTimeout: '1m',
        timeout: '15m',
        deadLetter: { after: 3, name: 'finalize-jobs-dlq' },
      }),
      // A tick that fails is not missed: the next one looks at the same rows.
      janitor: queue({ name: 'janitor-ticks', retention: '5m' }),
    },
    flows: {
      // A unit that is given up lies in a dead-letter queue. The document waits for its replay.
      extraction: flow({
        units: 'extract',
        finalize: 'finalize',
        onUnitFailure: 'wait',
        deadline: { ms: stuckAfterMs },
        onDeadline: 'report',
      }),
    },
    schedules: {
      janitor: schedule({ every: '1m', queue: 'janitor', missed: 'once' }),
    },
    alarms: alarms(),
  })
}

function alarms(): readonly Alarm[] {
  const urgent = { severity: 'critical', missingData: 'not_breaching' } as const
  const deadLetters = (['ingest', 'extract', 'finalize'] as const).map((key) =>
    alarm.dead(key).above(0, {
      ...urgent,
      name: `${key}-jobs-dead-letters`,
      description: 'Jobs that failed three times. Repair the cause and replay them.',
    }),
  )
  const stuck = alarm.metric(stuckMetric).above(0, {
    ...urgent,
    name: 'documents-stuck',
    description: 'Documents that have been pending or ingesting for more than 40 minutes.',
  })
  return [...deadLetters, stuck]
}

export type IngestionApp = ReturnType<typeof ingestionApp>
export type IngestionMill = Mill<IngestionApp>
export type Context = HandlerContext<IngestionApp['queues'], IngestionApp>
