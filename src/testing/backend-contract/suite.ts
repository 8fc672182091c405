/**
 * What the files of the contract suite share with the test runner: a fresh store for each test, and
 * skips that are always the consequence of a declared capability.
 */
import type { Capabilities } from '../../backends/capabilities.ts'
import type { ContractHarness } from './contract-harness.ts'
import { Scene } from './scene.ts'
import { Watchdog } from './watchdog.ts'

/** The part of a runner's test context that a skip at run time needs. */
interface TestContext {
  skip(reason?: string): void
}

/** Vitest's and node:test's functions both have these forms. */
export interface ContractRunner {
  readonly describe: (name: string, body: () => void) => unknown
  readonly test: (name: string, body: (context: TestContext) => Promise<void>) => unknown
  readonly open: () => Promise<ContractHarness>
  /** Says what a test waits for that does not end. Default: one that does so after 45 s. */
  readonly watchdog?: () => Watchdog
}

type Flag = {
  [K in keyof Capabilities]: Capabilities[K] extends boolean ? K : never
}[keyof Capabilities]

/** What a test needs beyond the port itself. */
export type Need =
  | Exclude<Flag, 'durable' | 'callerTransactions' | 'concurrentCalls' | 'backups'>
  | 'jumpWall'
  | 'reopen'
  | 'openAnother'

const reasons: Readonly<Record<Need, string>> = {
  atomicSettle: 'the backend does not settle and emit in one transaction',
  fifo: 'the backend has no FIFO queues',
  fencedReceipts: 'the backend accepts late receipts',
  lateReceipts: 'the backend takes no receipt after its lease',
  ordered: 'the backend keeps no order in standard queues',
  exactFigures: 'the figures of the backend are about right only',
  uncountedRelease: 'the backend counts a receive that was released',
  peek: 'the backend cannot read messages without receiving them',
  wakesAcrossProcesses: 'the backend does not wake receives of other processes',
  receiveAttempts: 'the backend does not remember receive attempts',
  trackedJobs: 'the backend keeps no tracked jobs',
  fairTenants: 'the backend does not serve quiet tenants first',
  ceilings: 'the backend holds receivers to no ceilings',
  killSwitches: 'the backend has no kill switches',
  flows: 'the backend keeps no flows',
  collectors: 'the backend keeps no collectors',
  schedules: 'the backend keeps no schedules',
  metrics: 'the backend keeps no metrics',
  inboxes: 'the backend keeps no inboxes',
  stacks: 'the backend keeps no record of stacks',
  jumpWall: 'the clock of the store cannot be moved by the harness',
  reopen: 'the harness cannot reopen the store',
  openAnother: 'the harness opens the store only once',
}

export type ContractBody = (scene: Scene) => Promise<void>

export class ContractSuite {
  readonly #runner: ContractRunner
  readonly #needs: readonly Need[]

  constructor(runner: ContractRunner, needs: readonly Need[] = []) {
    this.#runner = runner
    this.#needs = needs
  }

  /** The same suite for tests that only make sense with these capabilities. */
  needing(...needs: readonly Need[]): ContractSuite {
    return new ContractSuite(this.#runner, [...this.#needs, ...needs])
  }

  describe(name: string, body: () => void): void {
    this.#runner.describe(name, body)
  }

  test(name: string, body: ContractBody): void {
    this.#runner.test(name, async (context) => {
      const watchdog = this.#runner.watchdog?.() ?? new Watchdog()
      const harness = await watchdog.during('Opening the store', () => this.#runner.open())
      const dispose = (): Promise<void> =>
        watchdog.during('Closing the store', () => harness.dispose({ failed: false }))
      const missing = this.#needs.find((need) => !has(harness, need))
      if (missing !== undefined) {
        await dispose()
        // Some runners leave the test here by throwing; the store is already put away.
        context.skip(reasons[missing])
        return
      }
      const scene = new Scene(watchdog.watched(harness))
      try {
        await watchdog.during('The body of the test', () => body(scene))
        await scene.closeOthers()
      } catch (error) {
        await watchdog.closeAfterFailure(async () => {
          await scene.closeOthers()
          await harness.dispose({ failed: true })
        })
        throw error
      }
      await dispose()
    })
  }
}

function has(harness: ContractHarness, need: Need): boolean {
  if (need === 'jumpWall' || need === 'reopen' || need === 'openAnother') {
    return harness[need] !== undefined
  }
  return harness.backend.capabilities[need]
}
