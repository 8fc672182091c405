/** Runs one short sweep of the store every second. */
import type { Backend, SweepReport } from '../backends/backend.ts'
import type { Timers } from '../core/ports.ts'
import { Service, type ServiceFailure } from './service.ts'

export interface SweeperOptions {
  readonly backend: Pick<Backend, 'sweep'>
  readonly timers: Timers
  /** Pause between two sweeps. Default: 1000. */
  readonly intervalMs?: number
  readonly onFailure?: (failure: ServiceFailure) => void
}

export type SweepFailure = ServiceFailure

const defaultIntervalMs = 1_000

export class Sweeper extends Service {
  #expired = 0

  constructor({ backend, timers, intervalMs = defaultIntervalMs, onFailure }: SweeperOptions) {
    const slice = async (): Promise<SweepReport> => {
      const report = await backend.sweep()
      this.#expired += report.expired ?? 0
      return report
    }
    super({ timers, intervalMs, slice, onFailure })
  }

  /** Returns the number of expired messages since the last call. */
  takeExpired(): number {
    const expired = this.#expired
    this.#expired = 0
    return expired
  }
}
