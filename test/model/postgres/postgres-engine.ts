/**
 * A store in Postgres on a virtual clock, opened several times as by several processes. Calls go to any of
 * them, through a proxy that fails at commits.
 */
import assert from 'node:assert/strict'
import type { Backend } from '../../../src/backends/backend.ts'
import { openPostgres } from '../../../src/backends/postgres/index.ts'
import { type Randomness, systemPorts } from '../../../src/core/ports.ts'
import { seededIds, seededRandomness, VirtualClock } from '../../../src/testing/virtual-clock.ts'
import {
  type CommitFault,
  type CommitProxy,
  commitFaults,
  prepareForCommitFaults,
  startCommitProxy,
} from '../../services/commit-proxy.ts'
import { freshDatabase } from '../../services/fresh-database.ts'
import { PostgresInspector } from '../../support/postgres-inspection.ts'
import type { Faults, Tried } from '../commit-faults.ts'
import type { InspectedEngine } from '../engine-run.ts'

/** How many of the default runs on SQLite are run on Postgres, too. */
const share = Number(process.env['MILLRACE_POSTGRES_SHARE'] ?? 0.01)

export function runsOnPostgres(runsOnSqlite: number): number {
  return Math.ceil(runsOnSqlite * share)
}

const processes = 3

/** Faults that a caller does not notice. */
const silentFaults = ['cut before', 'cut after', 'terminated', 'conflict'] as const

export class PostgresEngine implements InspectedEngine {
  readonly clock = new VirtualClock()
  readonly isShared = true
  readonly faults: Faults
  readonly #url: string
  readonly #schema: string
  readonly #proxy: CommitProxy
  readonly #inspector: PostgresInspector
  readonly #backends: Backend[] = []
  readonly #startMs = this.clock.now()
  #randomness: Randomness = seededRandomness(1)
  #hasJumped = false
  #opened = 0

  private constructor(parts: {
    readonly url: string
    readonly schema: string
    readonly proxy: CommitProxy
    readonly inspector: PostgresInspector
  }) {
    this.#url = parts.url
    this.#schema = parts.schema
    this.#proxy = parts.proxy
    this.#inspector = parts.inspector
    this.faults = new PostgresFaults(parts.proxy)
  }

  static async open(): Promise<PostgresEngine> {
    const { url } = await freshDatabase()
    await prepareForCommitFaults(url)
    const schema = 'model'
    const proxy = await startCommitProxy(Number(new URL(url).port))
    const inspector = await PostgresInspector.open({ url, schema })
    const engine = new PostgresEngine({ url, schema, proxy, inspector })
    for (let index = 0; index < processes; index += 1) {
      engine.#backends.push(await engine.#openProcess())
    }
    return engine
  }

  /** Decides from now on which process is called; equal randomness chooses equally. */
  follow(randomness: Randomness): void {
    this.#randomness = randomness
  }

  /** Lets such a share of all commits meet a fault that no caller notices. */
  cutSilently(part: number): void {
    this.#proxy.choose = () => {
      if (this.#randomness.next() >= part) return undefined
      return silentFaults[this.#number(silentFaults.length)]
    }
  }

  backend(): Backend {
    const paceMs = this.#startMs + this.clock.monotonic()
    if (this.clock.now() !== paceMs) this.#hasJumped = true
    return this.#backends[this.#number(processes)] ?? assert.fail()
  }

  sender(): Backend {
    return this.#backends[0] ?? assert.fail()
  }

  async reopen(): Promise<void> {
    // Where the wall clock was moved, a process that opens the store knows only the time that was written
    // down, up to a second ago.
    if (this.#hasJumped) return
    // The sender keeps what it remembers.
    const index = 1 + this.#number(processes - 1)
    await this.#backends[index]?.close()
    this.#backends[index] = await this.#openProcess()
  }

  async rows<Row>(sql: string): Promise<readonly Row[]> {
    return (await this.#inspector.rows(sql)) as readonly Row[]
  }

  /** Checks the store and closes it. */
  async end(): Promise<void> {
    this.#proxy.choose = () => undefined
    for (const backend of this.#backends) await backend.close()
    await this.#inspector.assertSound()
    await this.#inspector.close()
    this.#proxy.close()
  }

  async #openProcess(): Promise<Backend> {
    this.#opened += 1
    // A fault while the store is opened is reported to the caller, and is not a matter of these runs.
    const { choose } = this.#proxy
    this.#proxy.choose = () => undefined
    const { backend } = await openPostgres({
      url: this.#proxy.url(this.#url),
      schema: this.#schema,
      connections: 2,
      usesPortsTime: true,
      ports: {
        clock: this.clock,
        // Only a lost connection waits here, and not for time that a run lets pass.
        timers: systemPorts.timers,
        ids: seededIds(this.#opened),
        randomness: seededRandomness(this.#opened),
      },
    })
    this.#proxy.choose = choose
    return backend
  }

  #number(limit: number): number {
    return Math.floor(this.#randomness.next() * limit)
  }
}

class PostgresFaults implements Faults<CommitFault> {
  readonly kinds = commitFaults
  readonly #proxy: CommitProxy

  constructor(proxy: CommitProxy) {
    this.#proxy = proxy
  }

  async during<T>(fault: CommitFault | undefined, call: () => Promise<T>): Promise<Tried<T>> {
    if (fault === undefined) return { isKept: true, hasFailed: false, answer: await call() }
    const isMet = this.#proxy.faultNext(fault)
    try {
      // A store may have tried again, for a reason of its own; then the call counts.
      return { isKept: true, hasFailed: false, answer: await call() }
    } catch (error) {
      if (fault !== 'refused' || !isMet()) throw error
      assert.equal((error as NodeJS.ErrnoException).code, 'store_failed')
      return { isKept: false, hasFailed: true, answer: undefined }
    } finally {
      this.#proxy.choose = () => undefined
    }
  }
}
