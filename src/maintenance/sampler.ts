/**
 * Keeps the metrics of a store up to date: writes the counts of this process every few seconds, and records
 * each minute when it ends. The first process records it.
 */
import type { MetricStore } from '../backends/metric-store.ts'
import type { Timers } from '../core/ports.ts'
import type { HandlerTally } from '../observability/handler-tally.ts'
import { Service, type ServiceFailure } from './service.ts'

export interface SamplerOptions {
  readonly metrics: MetricStore
  /** The counts of handlers in this process. Default: none. */
  readonly tally?: HandlerTally
  readonly timers: Timers
  /** How often counts are written to the store. Default: 10000. */
  readonly intervalMs?: number
  readonly onFailure?: (failure: ServiceFailure) => void
}

const defaultIntervalMs = 10_000

export class Sampler extends Service {
  readonly #options: SamplerOptions

  constructor(options: SamplerOptions) {
    const { metrics, timers, intervalMs = defaultIntervalMs, onFailure } = options
    super({
      timers,
      intervalMs,
      onFailure,
      // Records earlier minutes first, so that they do not include the work of this process.
      startsAtOnce: true,
      slice: async () => {
        await this.#handIn()
        return metrics.sample()
      },
    })
    this.#options = options
  }

  /** Writes the last counts to the store. */
  override async stop(): Promise<void> {
    await super.stop()
    try {
      await this.#handIn()
    } catch (error) {
      this.#options.onFailure?.({ error, failures: 1, retryInMs: null })
    }
  }

  async #handIn(): Promise<void> {
    const { metrics, tally } = this.#options
    const queues = tally?.take() ?? []
    try {
      await metrics.report({ queues })
    } catch (error) {
      tally?.putBack(queues)
      throw error
    }
  }
}
