/** A job library that takes part in a measurement: with its own database, in its own processes. */
import { query } from '../../test/services/query.ts'
import { BenchChild } from '../child-process.ts'
import type { ContenderRequest, Counts } from './contender.child.ts'
import type { Aim, LibraryName } from './job-library.ts'
import type { Postgres } from './start-postgres.ts'

export interface ContenderOptions {
  readonly library: LibraryName
  readonly database: string
  /** Default: `rate`. */
  readonly aim?: Aim
  /** Two: one only enqueues, the other one only runs the worker. Default: one does both. */
  readonly processes?: 1 | 2
}

type Child = BenchChild<ContenderRequest>

/** Enough for the longest request on a slow machine. */
const answerMsMax = 300_000

export class Contender {
  readonly library: LibraryName
  readonly url: string
  readonly #producer: Child
  readonly #worker: Child
  #counts: Counts = { enqueued: 0, started: 0, repeated: 0, unfinished: 0 }

  private constructor({ library, aim = 'rate', processes = 1 }: ContenderOptions, url: string) {
    this.library = library
    this.url = url
    const file = new URL('./contender.child.ts', import.meta.url)
    this.#producer = new BenchChild(file, library, url, aim)
    this.#worker = processes === 1 ? this.#producer : new BenchChild(file, library, url, aim)
  }

  static async start(
    postgres: Pick<Postgres, 'createDatabase'>,
    options: ContenderOptions,
  ): Promise<Contender> {
    return new Contender(options, await postgres.createDatabase(options.database))
  }

  /** Keeps connections only while the function runs, so that other contenders are not disturbed. */
  async whileOpen<T>(run: () => Promise<T>): Promise<T> {
    for (const child of this.#children) await this.#ask(child, { kind: 'open' })
    const result = await run()
    const { enqueued, unfinished } = await this.askProducer<Counts>({ kind: 'counts' })
    const { started, repeated } = await this.askWorker<Counts>({ kind: 'counts' })
    this.#counts = { enqueued, started, repeated, unfinished }
    for (const child of this.#children) await this.#ask(child, { kind: 'close' })
    return result
  }

  askProducer<T>(request: ContenderRequest): Promise<T> {
    return this.#ask(this.#producer, request)
  }

  askWorker<T>(request: ContenderRequest): Promise<T> {
    return this.#ask(this.#worker, request)
  }

  /** As autovacuum does it, but not in the middle of a measurement. */
  async vacuum(): Promise<void> {
    await query(this.url, 'VACUUM ANALYZE')
  }

  /** Of all jobs so far, when it was last closed. */
  get counts(): Counts {
    return this.#counts
  }

  async end(): Promise<void> {
    for (const child of this.#children) await child.end()
  }

  get #children(): ReadonlySet<Child> {
    return new Set([this.#producer, this.#worker])
  }

  async #ask<T>(child: Child, request: ContenderRequest): Promise<T> {
    const { promise: tooLate, reject } = Promise.withResolvers<never>()
    const error = new Error(`${this.library} does not end "${request.kind}".`)
    const timer = setTimeout(() => reject(error), answerMsMax)
    try {
      return await Promise.race([child.ask<T>(request), tooLate])
    } finally {
      clearTimeout(timer)
    }
  }
}
