/**
 * Connects the circuit breaker with the queue. While the provider is down, a kill switch holds extraction in all
 * processes, and received jobs are released without using up an attempt. The switch turns itself off, and the
 * next job tries the provider.
 */
import type { Logger } from 'millrace'
import { breakerSwitch, type IngestionMill } from '../app.ts'
import type { CircuitBreaker } from '../extractor/circuit-breaker.ts'
import { providerTrouble } from '../extractor/provider-trouble.ts'

export type Passage<Answer> =
  | { readonly passed: true; readonly answer: Answer }
  /** Try later. The job is not the cause. */
  | { readonly passed: false }

export interface ProviderGateSetup {
  readonly breaker: CircuitBreaker
  readonly switches: IngestionMill['switches']
  readonly log: Logger
}

const by = 'circuit breaker'
const holdMsMin = 1_000

export class ProviderGate {
  readonly #setup: ProviderGateSetup

  constructor(setup: ProviderGateSetup) {
    this.#setup = setup
  }

  async pass<Answer>(call: () => Promise<Answer>): Promise<Passage<Answer>> {
    const { breaker, log } = this.#setup
    const admission = breaker.admit()
    if (!admission.admitted) {
      await this.#hold(admission.waitMs)
      return { passed: false }
    }
    try {
      const answer = await call()
      if (breaker.state !== 'closed') await this.#lift()
      breaker.succeeded()
      return { passed: true, answer }
    } catch (error) {
      const trouble = providerTrouble(error)
      if (trouble === undefined) {
        breaker.undecided()
        throw error
      }
      const openMs = breaker.failed(trouble)
      const { kind, code } = trouble
      log.warn({ kind, code, open_ms: openMs }, 'provider failing')
      if (openMs > 0) await this.#hold(openMs)
      if (trouble.mayBeUnit) throw error
      return { passed: false }
    }
  }

  async #hold(ms: number): Promise<void> {
    const lasting = { ms: Math.max(holdMsMin, Math.ceil(ms)) }
    const note = 'The model provider is failing.'
    await this.#setup.switches.hold({ name: breakerSwitch }, { by, note, for: lasting })
  }

  async #lift(): Promise<void> {
    await this.#setup.switches.lift(
      { name: breakerSwitch },
      { by, note: 'The provider works again.' },
    )
    this.#setup.log.info({}, 'provider works again')
  }
}
