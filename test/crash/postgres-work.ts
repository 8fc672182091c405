/**
 * Jobs that are sent and completed by several processes while a database server or its connections fail. Keeps
 * account of what was acknowledged: it must be there at the end, and what was settled must not run again.
 */
import assert from 'node:assert/strict'
import type { Backend, Delivery } from '../../src/backends/backend.ts'
import { openPostgres } from '../../src/backends/postgres/index.ts'
import { MillraceError } from '../../src/core/millrace-error.ts'
import { assertSoundPostgres } from '../support/postgres-inspection.ts'

const queue = 'work'
const jobsPerCall = 5
/** A lease whose receiver never heard of it ends soon. */
const leaseMs = 5_000

export interface PostgresWorkOptions {
  /** What processes connect to. */
  readonly url: string
  /** The database itself. */
  readonly directUrl: string
  /** Of each process. Default: 4. */
  readonly connections?: number
}

export class PostgresWork {
  readonly #options: PostgresWorkOptions
  readonly #backends: Backend[] = []
  /** The ids of jobs by their keys, once their calls have returned. */
  readonly #created = new Map<string, string>()
  readonly #settled = new Set<string>()
  readonly #watching = new Set<() => void>()
  /** Calls that failed, by the codes of their errors. */
  readonly failures = new Map<string, number>()
  #keys = 0
  #isEnding = false

  private constructor(options: PostgresWorkOptions) {
    this.#options = options
  }

  static async open(options: PostgresWorkOptions): Promise<PostgresWork> {
    const work = new PostgresWork(options)
    const { url, connections = 4 } = options
    for (let index = 0; index < 2; index += 1) {
      work.#backends.push((await openPostgres({ url, connections })).backend)
    }
    await work.#backends[0]?.createQueue({ queue, settings: { visibilityMs: leaseMs } })
    return work
  }

  get settled(): number {
    return this.#settled.size
  }

  /** Sends and completes jobs until the disturbance is over; then completes the rest and checks everything. */
  async during(disturb: (work: PostgresWork) => Promise<void>): Promise<void> {
    const workers = this.#backends.flatMap((backend) => [
      this.#send(backend),
      this.#work(backend),
      this.#work(backend),
    ])
    const disturbed = disturb(this).finally(() => {
      this.#isEnding = true
    })
    await Promise.all([disturbed, ...workers])
    await this.#check()
    for (const backend of this.#backends) await backend.close()
    await assertSoundPostgres({ url: this.#options.directUrl, schema: 'millrace' })
  }

  /** Resolves when so many more jobs were completed. */
  async afterJobs(count: number): Promise<void> {
    const until = this.settled + count
    while (this.settled < until) {
      await new Promise<void>((resolve) => this.#watching.add(resolve))
    }
  }

  get #isOver(): boolean {
    return this.#isEnding && this.#settled.size >= this.#created.size
  }

  async #send(backend: Backend): Promise<void> {
    while (!this.#isEnding) {
      const keys = Array.from({ length: jobsPerCall }, () => {
        this.#keys += 1
        return `key ${this.#keys}`
      })
      const jobs = keys.map((key) => ({ type: 'OCR', payload: '1', idempotency: { key } }))
      const sent = await this.#insisted(async () => backend.jobs?.enqueue({ queue, jobs }))
      for (const [index, key] of keys.entries()) {
        this.#created.set(key, sent?.[index]?.id ?? assert.fail('a job has no id'))
      }
      // Workers keep up, so that the end does not take long.
      if (this.#created.size > this.#settled.size + 200) await this.afterJobs(1)
    }
  }

  async #work(backend: Backend): Promise<void> {
    while (!this.#isOver) {
      const request = { queue, max: jobsPerCall, waitMs: 200 }
      const deliveries = await this.#insisted(() => backend.receive(request))
      for (const { job } of deliveries) {
        assert.ok(!this.#settled.has(job?.id ?? ''), `${job?.id} runs again after it was settled`)
      }
      if (deliveries.length > 0) await this.#complete(backend, deliveries)
    }
  }

  async #complete(backend: Backend, deliveries: readonly Delivery[]): Promise<void> {
    const outcome = { kind: 'acknowledge', result: '2' } as const
    const settlements = deliveries.map(({ receipt }) => ({ receipt, outcome }))
    const { length: failedBefore } = [...this.failures.values()]
    const results = await this.#insisted(() => backend.settle({ queue, settlements }))
    for (const [index, { status }] of results.entries()) {
      const id = deliveries[index]?.job?.id ?? ''
      // A call that failed may have taken effect, if the server did not return for long.
      const isDone = status === 'settled' || (status === 'gone' && failedBefore > 0)
      if (!isDone) continue
      assert.ok(!this.#settled.has(id), `${id} was settled twice`)
      this.#settled.add(id)
    }
    for (const resolve of this.#watching) resolve()
    this.#watching.clear()
  }

  /** Calls again after errors that allow it, as programs do. */
  async #insisted<T>(call: () => Promise<T>): Promise<T> {
    for (;;) {
      try {
        return await call()
      } catch (error) {
        if (!(error instanceof MillraceError && error.retryable)) throw error
        this.failures.set(error.code, (this.failures.get(error.code) ?? 0) + 1)
      }
    }
  }

  /** Every job that was acknowledged has ended once, and there are no others. */
  async #check(): Promise<void> {
    const [backend = assert.fail()] = this.#backends
    const ids = [...this.#created.values()]
    assert.equal(new Set(ids).size, this.#keys, 'two keys have the same job')
    for (const id of ids) {
      const job = await backend.jobs?.read({ id })
      assert.equal(job?.status, 'completed', `${id} is ${job?.status}`)
    }
    const { ready, leased, delayed, totals } = await backend.queueStatistics({ queue })
    assert.deepEqual({ ready, leased, delayed }, { ready: 0, leased: 0, delayed: 0 })
    assert.deepEqual([totals.sent, totals.acknowledged], [ids.length, ids.length])
  }
}
