/**
 * Two stores that are given the same calls. One sweeps after every step, the other one never does
 * unless told. Each has its own ids for the jobs of the model.
 */
import assert from 'node:assert/strict'
import type { Backend } from '../../src/backends/backend.ts'
import type { JobStore } from '../../src/backends/job-store.ts'
import type { SwitchStore } from '../../src/backends/switch-store.ts'
import type { Engine } from './engine-run.ts'
import type { ModelJob } from './job-model.ts'

export const sides = ['eager', 'lazy'] as const
export type Side = (typeof sides)[number]
export type OfBoth<T> = Readonly<Record<Side, T>>

export interface Store {
  readonly backend: Backend
  readonly jobs: JobStore
  readonly switches: SwitchStore
}

export class JobStores {
  readonly #engines: OfBoth<Engine>
  readonly #ids = new Map<ModelJob, OfBoth<string>>()

  constructor(engines: OfBoth<Engine>) {
    this.#engines = engines
  }

  get now(): number {
    return this.#engines.eager.clock.now()
  }

  get jobsKnown(): number {
    return this.#ids.size
  }

  store(side: Side): Store {
    return this.#storeOf(this.#engines[side].backend())
  }

  #storeOf(backend: Backend): Store {
    const { jobs, switches } = backend
    assert.ok(jobs !== null && switches !== null)
    return { backend, jobs, switches }
  }

  async both<T>(call: (store: Store, side: Side) => Promise<T>): Promise<OfBoth<T>> {
    return {
      eager: await call(this.store('eager'), 'eager'),
      lazy: await call(this.store('lazy'), 'lazy'),
    }
  }

  /** For calls that store or receive messages, whose order counts. */
  async byOneProcess<T>(call: (store: Store, side: Side) => Promise<T>): Promise<OfBoth<T>> {
    const sender = (side: Side): Store => this.#storeOf(this.#engines[side].sender())
    return {
      eager: await call(sender('eager'), 'eager'),
      lazy: await call(sender('lazy'), 'lazy'),
    }
  }

  async sweep(side: Side): Promise<void> {
    while ((await this.#engines[side].backend().sweep()).more);
  }

  async advance(ms: number): Promise<void> {
    for (const side of sides) await this.#engines[side].clock.advance(ms)
  }

  async reopen(): Promise<void> {
    for (const side of sides) await this.#engines[side].reopen()
  }

  bind(job: ModelJob, answers: OfBoth<{ readonly id: string } | Error | undefined>): void {
    const id = (side: Side): string => {
      const answer = answers[side]
      return answer !== undefined && 'id' in answer ? answer.id : assert.fail(`${side}: no id`)
    }
    this.#ids.set(job, { eager: id('eager'), lazy: id('lazy') })
  }

  idOf(job: ModelJob, side: Side): string {
    return this.#ids.get(job)?.[side] ?? assert.fail(`${job.name} has no id`)
  }

  knows(id: string, side: Side): boolean {
    return [...this.#ids.values()].some((ids) => ids[side] === id)
  }

  jobOf(id: string | undefined, side: Side): ModelJob {
    for (const [job, ids] of this.#ids) if (ids[side] === id) return job
    return assert.fail(`${side}: nobody knows the job ${id}`)
  }
}
