/** The system in one process: real store, files, HTTP and worker. */

import type { Logger, Worker } from 'millrace'
import type { VirtualClock, VirtualPorts } from 'millrace/testing'
import { onTestFinished } from 'vitest'
import { temporaryFolder } from '../../../test/support/temporary-folder.ts'
import { storeOnPortsTime, storeVariables } from '../../shared/test/store.ts'
import { startApi } from '../api.ts'
import { type Caller, Callers } from '../callers.ts'
import { IngestionClient } from '../demo/ingestion-client.ts'
import { readEnvironment } from '../environment.ts'
import { type Ingestion, keyFor, openIngestion } from '../open-ingestion.ts'
import { createIngestionWorker, type IngestionWorkerOptions } from '../worker.ts'

export interface LogLine {
  readonly level: keyof Logger
  readonly message: string
  readonly fields: Readonly<Record<string, unknown>>
}

export interface Fixture {
  readonly ingestion: Ingestion
  readonly lines: readonly LogLine[]
  /** The environment of other processes of the same system. */
  readonly variables: Readonly<Record<string, string>>
  startWorker(options?: IngestionWorkerOptions): Worker
  startApi(options?: { readonly uploadBytesMax?: number }): Promise<{
    readonly url: string
    as(caller: Caller): Promise<IngestionClient>
  }>
}

export const ada: Caller = { userId: 'ada', organizationId: 'org-a' }
export const bob: Caller = { userId: 'bob', organizationId: 'org-b' }
export const kbId = 'kb-a'

export interface FixtureOptions {
  readonly variables?: Readonly<Record<string, string>>
  /** A virtual clock. Default: the machine's clock. */
  readonly ports?: VirtualPorts
}

export async function openFixture(options: FixtureOptions = {}): Promise<Fixture> {
  const folder = await temporaryFolder('ingestion')
  const variables = {
    INGESTION_DATA: folder.path,
    INGESTION_SECRET: '0123456789'.repeat(4),
    INGESTION_RETRY_MS: '0',
    ...(await storeVariables()),
    ...options.variables,
  }
  const lines: LogLine[] = []
  const { ports } = options
  const environment = readEnvironment(variables)
  const virtual = ports && { ports, ...storeOnPortsTime(variables, ports.clock) }
  const ingestion = await openIngestion(environment, recording(lines), { ...virtual })
  await ingestion.library.addKnowledgeBase({ id: kbId, organizationId: ada.organizationId })
  await ingestion.library.addKnowledgeBase({ id: 'kb-b', organizationId: bob.organizationId })
  const stops: (() => Promise<void>)[] = []
  onTestFinished(async () => {
    const close = async (): Promise<void> => {
      for (const stop of stops.reverse()) await stop()
      await ingestion[Symbol.asyncDispose]()
    }
    await (ports === undefined ? close() : withTime(ports, close()))
    await folder.remove()
  })
  return {
    ingestion,
    lines,
    variables,
    startWorker(workerOptions) {
      const worker = createIngestionWorker(ingestion, workerOptions)
      worker.start()
      stops.push(() => worker.stop())
      return worker
    },
    async startApi(apiOptions) {
      const api = await startApi(ingestion, apiOptions)
      stops.push(() => api.stop())
      const callers = new Callers(keyFor(environment, 'tokens'))
      const as = async (caller: Caller): Promise<IngestionClient> =>
        new IngestionClient({ url: api.url, token: await callers.issue(caller) })
      return { url: api.url, as }
    },
  }
}

/** How many chunks a search in the knowledge base looks at. */
export async function countSearchable({ ingestion }: Fixture, model: string): Promise<number> {
  let count = 0
  for await (const _ of ingestion.library.searchable(kbId, model)) count += 1
  return count
}

export const minuteMs = 60_000

/** Skips to the last minute, then advances the clock normally. */
export async function pass(clock: VirtualClock, minutes: number): Promise<void> {
  clock.sleep((minutes - 1) * minuteMs)
  await clock.advance(minuteMs)
}

export function loggedIds({ lines }: Fixture, message: string): readonly unknown[] {
  return lines.filter((line) => line.message === message).map(({ fields }) => fields['documentId'])
}

/** Advances the clock until the promise settles. */
export async function withTime<Answer>(
  { clock }: VirtualPorts,
  work: Promise<Answer>,
): Promise<Answer> {
  let isDone = false
  const done = work.finally(() => {
    isDone = true
  })
  done.catch(() => undefined)
  while (!isDone) await clock.advance(50)
  return done
}

/** Waits for one turn of the event loop. */
export function turn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve))
}

/** A logger that records its lines. */
function recording(lines: LogLine[]): Logger {
  const at =
    (level: keyof Logger) =>
    (fields: LogLine['fields'], message: string): void => {
      lines.push({ level, message, fields })
    }
  return { debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error') }
}
