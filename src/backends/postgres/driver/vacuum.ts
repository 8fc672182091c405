/**
 * Keeps the table of messages small. Each message leaves dead rows behind. The server's own vacuum looks once
 * a minute, which is too seldom at full speed. The server does nothing if the role does not own the table.
 */
import type { Ports } from '../../../core/ports.ts'

/** Dead rows after which a vacuum is worth it. */
const deadMin = 40_000

/** The least time between two of them. */
const pauseMs = 5_000

/** Tables whose rows change with every commit. */
const tables = ['message', 'queue_count', 'commit_mark', 'store']

export interface VacuumOptions {
  readonly ports: Ports
  /** Quoted for SQL. */
  readonly schema: string
  readonly query: (text: string) => Promise<unknown>
}

export class Vacuum {
  readonly #options: VacuumOptions
  #dead = 0
  #lastMs = Number.NEGATIVE_INFINITY
  #running: Promise<void> | undefined

  constructor(options: VacuumOptions) {
    this.#options = options
  }

  /** Called after each commit. */
  note(deadRows: number): void {
    this.#dead += deadRows
    if (this.#dead < deadMin || this.#running !== undefined) return
    const nowMs = this.#options.ports.clock.monotonic()
    if (nowMs - this.#lastMs < pauseMs) return
    this.#lastMs = nowMs
    this.#dead = 0
    this.#running = this.#run().finally(() => {
      this.#running = undefined
    })
  }

  async #run(): Promise<void> {
    const { schema, query } = this.#options
    const names = tables.map((table) => `${schema}.${table}`).join(', ')
    // The next one comes anyway.
    await query(`VACUUM (SKIP_LOCKED, TRUNCATE false) ${names}`).catch(() => undefined)
  }
}
