/**
 * Keeps the metrics of a store up to date: takes what this process has counted to the store every few
 * seconds, and sees to it that each minute is written down when it ends, by whichever process is first.
 */
import type { MetricStore } from '../backends/metric-store.ts'
import type { Timers } from '../core/ports.ts'
import type { HandlerTally } from '../observability/handler-tally.ts'
import { Service, type ServiceFailure } from './service.ts'

export interface SamplerOptions {
  readonly metrics: MetricStore
  /** What the handlers of this process come to. Default: it has none. */
  readonly tally?: HandlerTally
  readonly timers: Timers
  /** How often figures are taken to the store; minutes end when they do. Default 10000. */
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
      // What happened before this process was there must not be mixed with what it does.
      startsAtOnce: true,
      slice: async () => {
        await this.#handIn()
        return metrics.sample()
      },
    })
    this.#options = options
  }

  /** What was counted last goes to the store too. */
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
