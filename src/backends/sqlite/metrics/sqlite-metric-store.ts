/** The port of metrics on SQLite. */
import type { Page } from '../../backend.ts'
import type {
  LatestValue,
  MetricPage,
  MetricStore,
  QueueMinute,
  QueueSnapshot,
  ReadMinutes,
  ReadValues,
  ReportFigures,
  SampleReport,
  ValueMinute,
} from '../../metric-store.ts'
import type { Session } from '../driver/session.ts'
import type { StoreTransaction } from '../driver/transaction.ts'
import type { Writer } from '../driver/writer.ts'
import type { EmptyReceives } from '../messages/empty-receives.ts'
import { addToHandlers } from './metric-handlers.ts'
import { readMinutes, readSnapshot } from './metric-minutes.ts'
import { addValues, latestValues, readValues } from './metric-values.ts'
import { addEmptyReceives, isSampleDue, nothingToSample, sampleMinute } from './recording.ts'

type Read = <T>(run: (session: Session, now: number) => T) => Promise<T>

export interface MetricStoreParts {
  readonly writer: Writer
  readonly read: Read
  /** What the receives of this process have come to. */
  readonly emptyReceives: EmptyReceives
}

export class SqliteMetricStore implements MetricStore {
  readonly #writer: Writer
  readonly #read: Read
  readonly #emptyReceives: EmptyReceives

  constructor({ writer, read, emptyReceives }: MetricStoreParts) {
    this.#writer = writer
    this.#read = read
    this.#emptyReceives = emptyReceives
  }

  async sample(): Promise<SampleReport> {
    const nothing = await this.#read((session, now) =>
      isSampleDue(session, now) ? undefined : nothingToSample(now),
    )
    if (nothing !== undefined && this.#emptyReceives.isEmpty) return nothing
    return this.#withEmptyReceives(sampleMinute)
  }

  async report({ queues, values = [] }: ReportFigures): Promise<void> {
    if (queues.length === 0 && values.length === 0 && this.#emptyReceives.isEmpty) return
    await this.#withEmptyReceives((tx) => {
      addValues(tx, values)
      for (const { queue: name, emptyReceives = 0, handlers } of queues) {
        const queue = tx.session.queues.find(name)
        if (queue === undefined) continue
        if (emptyReceives > 0) addEmptyReceives(tx, new Map([[name, emptyReceives]]))
        if (handlers !== undefined) addToHandlers(tx, queue, handlers)
      }
    })
  }

  minutes(request: ReadMinutes): Promise<readonly QueueMinute[]> {
    return this.#read((session) => readMinutes(session, request))
  }

  snapshot(request: MetricPage): Promise<Page<QueueSnapshot>> {
    return this.#read((session, now) => readSnapshot(session, request, now))
  }

  values(request: ReadValues): Promise<readonly ValueMinute[]> {
    return this.#read((session) => readValues(session, request))
  }

  latest(request: MetricPage): Promise<Page<LatestValue>> {
    return this.#read((session) => latestValues(session, request))
  }

  /** Every commit of metrics takes along what was counted in memory, or leaves it there. */
  async #withEmptyReceives<T>(apply: (tx: StoreTransaction) => T): Promise<T> {
    const counts = this.#emptyReceives.take()
    try {
      return await this.#writer.submit((tx) => {
        addEmptyReceives(tx, counts)
        return apply(tx)
      })
    } catch (error) {
      for (const [queue, count] of counts) this.#emptyReceives.note(queue, count)
      throw error
    }
  }
}
