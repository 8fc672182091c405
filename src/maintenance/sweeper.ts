/** Runs one short sweep of the store every second. */
import type { Backend } from '../backends/backend.ts'
import type { Timers } from '../core/ports.ts'
import { Service, type ServiceFailure, type SliceEnd } from './service.ts'

export interface SweeperOptions {
  readonly backend: Pick<Backend, 'sweep'>
  readonly timers: Timers
  /** Pause between two sweeps. Default: 1000. */
  readonly intervalMs?: number
  /** Pause after a sweep that changed nothing. Default: the same. */
  readonly idleMs?: number
  /** How much longer that pause becomes while nothing changes. Default: not at all. */
  readonly idleGrowth?: number
  /** How long until the store changes by itself. Called before a long pause. Default: not known. */
  readonly nextChangeInMs?: () => Promise<number>
  readonly onFailure?: (failure: ServiceFailure) => void
}

export type SweepFailure = ServiceFailure

const defaultIntervalMs = 1_000

export class Sweeper extends Service {
  #expired = 0

  constructor(options: SweeperOptions) {
    const { backend, timers, intervalMs = defaultIntervalMs, onFailure } = options
    const { idleMs = intervalMs, idleGrowth, nextChangeInMs } = options
    const slice = async (idleForMs: number): Promise<SliceEnd> => {
      const { expired = 0, changed, more } = await backend.sweep()
      this.#expired += expired
      if (changed > 0) return { more, hasWorked: true, nextInMs: intervalMs }
      if (more || nextChangeInMs === undefined || idleForMs === 0) return { more }
      return { nextInMs: await nextChangeInMs() }
    }
    super({ timers, intervalMs: idleMs, idleGrowth, slice, onFailure })
  }

  /** Returns the number of expired messages since the last call. */
  takeExpired(): number {
    const expired = this.#expired
    this.#expired = 0
    return expired
  }
}
