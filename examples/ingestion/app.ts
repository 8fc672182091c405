/**
 * The app: the queues, the flow that joins the units of a document, the janitor's schedule, and the alarms.
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

/** The job for an uploaded document. */
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

/** A document that is pending or ingesting for longer than this is stuck. */
export const stuckAfterMs: number = 40 * 60_000

/** The metric that the janitor records and the alarm watches. */
export const stuckMetric = 'documents_stuck'

/** Kill switches: operators use the first, the circuit breaker the second. */
export const pauseSwitch = 'EXTRACTION_PAUSED'
export const breakerSwitch = 'PROVIDER_DOWN'

export function ingestionApp(settings: QueueSettings) {
  const policy = {
    backoff: { from: { ms: settings.INGESTION_RETRY_MS } },
    retention: '4d',
  } as const
  return defineApp('ingestion', {
    queues: {
      // The lease is renewed while a job runs, so it can be short: after a crash, another worker takes the
      // job when the lease ends. The timeout limits how long a job may run.
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
        // The limit of the model provider. Other units wait here without failing.
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
      // A failed tick needs no retry: the next one checks the same rows.
      janitor: queue({ name: 'janitor-ticks', retention: '5m' }),
    },
    flows: {
      // The dead letter of a failed unit can be redriven, and the document waits for that.
      extraction: flow({
        units: 'extract',
        finalize: 'finalize',
        onUnitFailure: 'wait',
        deadline: { ms: stuckAfterMs },
        onDeadline: 'report',
      }),
    },
    schedules: {
      janitor: schedule({ every: '1m', send: { queue: 'janitor' }, missed: 'once' }),
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
      description: 'Jobs that failed three times. Fix the cause and redrive them.',
    }),
  )
  const stuck = alarm.metric(stuckMetric).above(0, {
    ...urgent,
    name: 'documents-stuck',
    description: 'Documents that are pending or ingesting for more than 40 minutes.',
  })
  return [...deadLetters, stuck]
}

export type IngestionApp = ReturnType<typeof ingestionApp>
export type IngestionMill = Mill<IngestionApp>
export type Context = HandlerContext<IngestionApp['queues'], IngestionApp>
