/**
 * Tells what a test waits for when it does not end: the step it is in, the calls of the backend that have
 * not returned, and how long the event loop stood still. It counts in real time, whatever the clock of the
 * store does.
 */
import type { Backend } from '../../backends/backend.ts'
import type { ContractHarness } from './contract-harness.ts'

/**
 * Shorter than the patience that a runner should have with a busy machine. The runner would only say that the test
 * took too long.
 */
const stepMsMax = 120_000

/** After a failure, closing must not take so long that the runner's own limit hides it. */
const closingMsMax = 5_000

/** How often the event loop is looked at. */
const tickMs = 1_000

export class Watchdog {
  readonly #stepMsMax: number
  readonly #calls = new Map<symbol, { readonly name: string; readonly startedMs: number }>()

  constructor(options: { readonly stepMsMax?: number } = {}) {
    this.#stepMsMax = options.stepMsMax ?? stepMsMax
  }

  /** Closes the store of a test that has failed; why it failed matters more than what closing says. */
  async closeAfterFailure(run: () => Promise<void>): Promise<void> {
    const limitMs = Math.min(this.#stepMsMax, closingMsMax)
    await this.during('Closing the store', run, limitMs).catch(() => undefined)
  }

  /** Rejects with a description when the step does not end in time. */
  async during<T>(
    step: string,
    run: () => Promise<T>,
    limitMs: number = this.#stepMsMax,
  ): Promise<T> {
    const startedMs = performance.now()
    let tickedMs = startedMs
    let stoodStillMs = 0
    let timer: NodeJS.Timeout | undefined
    const overdue = new Promise<never>((_, reject) => {
      timer = setInterval(
        () => {
          const nowMs = performance.now()
          stoodStillMs = Math.max(stoodStillMs, nowMs - tickedMs - tickMs)
          tickedMs = nowMs
          if (nowMs - startedMs < limitMs) return
          reject(new Error(this.#describe(step, { nowMs, startedMs, stoodStillMs })))
        },
        Math.min(tickMs, limitMs),
      )
    })
    try {
      return await Promise.race([run(), overdue])
    } finally {
      clearInterval(timer)
    }
  }

  /** The same harness, whose calls are known while they last. */
  watched(harness: ContractHarness): ContractHarness {
    const { jumpWall, reopen, openAnother } = harness
    return {
      backend: this.#watchedBackend(harness.backend),
      advance: (ms) => this.#call(`advance ${ms} ms`, () => harness.advance(ms)),
      ...(jumpWall !== undefined && { jumpWall: (ms: number) => harness.jumpWall?.(ms) }),
      ...(reopen !== undefined && {
        reopen: async () =>
          this.#watchedBackend(await this.#call('reopen', () => reopen.call(harness))),
      }),
      ...(openAnother !== undefined && {
        openAnother: async () =>
          this.#watchedBackend(await this.#call('openAnother', () => openAnother.call(harness))),
      }),
      dispose: (end) => harness.dispose(end),
    }
  }

  #watchedBackend(backend: Backend): Backend {
    return this.#watchedPart('', backend) as Backend
  }

  /** Not a proxy of the part itself: it may be frozen, and its methods may need it as `this`. */
  #watchedPart(prefix: string, part: object): object {
    return new Proxy(
      {},
      {
        get: (_, property) => {
          const value: unknown = Reflect.get(part, property)
          const name = `${prefix}${String(property)}`
          if (typeof value === 'function') {
            return (...given: unknown[]) =>
              this.#call(name, () => Reflect.apply(value, part, given))
          }
          const isStore = prefix === '' && typeof value === 'object' && value !== null
          return isStore && property !== 'capabilities'
            ? this.#watchedPart(`${name}.`, value)
            : value
        },
        has: (_, property) => Reflect.has(part, property),
      },
    )
  }

  #call<T>(name: string, run: () => T): T {
    const id = Symbol(name)
    this.#calls.set(id, { name, startedMs: performance.now() })
    const end = (): void => void this.#calls.delete(id)
    let result: T | undefined
    try {
      result = run()
      return result
    } finally {
      if (result instanceof Promise) result.then(end, end)
      else end()
    }
  }

  #describe(
    step: string,
    { nowMs, startedMs, stoodStillMs }: Record<'nowMs' | 'startedMs' | 'stoodStillMs', number>,
  ): string {
    const calls = [...this.#calls.values()].map(
      (call) => `${call.name} for ${Math.round(nowMs - call.startedMs)} ms`,
    )
    const resources = process.getActiveResourcesInfo().join(', ')
    return [
      `${step} has not ended after ${Math.round(nowMs - startedMs)} ms.`,
      `Pending: ${calls.length === 0 ? 'no call of the backend' : calls.join('; ')}.`,
      `The event loop stood still for ${Math.round(stoodStillMs)} ms at most.`,
      `Active resources: ${resources}.`,
    ].join(' ')
  }
}
