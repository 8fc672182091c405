/**
 * Collects what a handler emits while it runs. All of it is stored in the commit of the acknowledgement. Each
 * part is checked against its contract at once. A refusal fails the attempt when the handler is done.
 */
import type { EmittedJob, EmittedMessage, Settlement } from '../backends/backend.ts'
import type { AddItems, EndBatch } from '../backends/collector-store.ts'
import type { EmittedFlow, MarkUnits } from '../backends/flow-store.ts'
import { MillraceError } from '../core/millrace-error.ts'

/** Everything in a settlement except its outcome. */
export type EmittedParts = Omit<Settlement, 'receipt' | 'outcome'>

type Write = NonNullable<Settlement['within']>

interface Collected {
  readonly emits: Promise<EmittedMessage>[]
  readonly jobs: Promise<EmittedJob>[]
  readonly flows: Promise<EmittedFlow>[]
  readonly marks: Promise<MarkUnits>[]
  readonly items: Promise<AddItems>[]
}

export class AttemptEmits {
  readonly #collected: Collected = { emits: [], jobs: [], flows: [], marks: [], items: [] }
  #batch: EndBatch | undefined
  #isSettling = false
  readonly #writes: Write[] = []

  add<Kind extends keyof Collected>(kind: Kind, emitted: Collected[Kind][number]): void {
    emitted.catch(() => undefined)
    this.#refuseLate()
    // The compiler cannot see that the key selects the list of the same kind.
    const list: Promise<unknown>[] = this.#collected[kind]
    list.push(emitted)
  }

  write(write: Write): void {
    this.#refuseLate()
    this.#writes.push(write)
  }

  /** Ends the batch of a collector that this delivery started. */
  endBatch(batch: EndBatch): void {
    this.#batch = batch
  }

  /** Resolves with everything that was emitted. Rejects if any of it was refused. */
  async gathered(): Promise<EmittedParts> {
    const { emits, jobs, flows, marks, items } = this.#collected
    const drafts = {
      emits: await Promise.all(emits),
      jobs: await Promise.all(jobs),
      flows: await Promise.all(flows),
      marks: await Promise.all(marks),
      items: await Promise.all(items),
    }
    const given = Object.entries(drafts).filter(([, list]) => list.length > 0)
    const writes = this.#writes
    return {
      ...Object.fromEntries(given),
      ...(this.#batch !== undefined && { batch: this.#batch }),
      ...(writes.length > 0 && { within: (connection) => this.#runAll(connection) }),
    }
  }

  /** Runs each after the one before; returns a promise if one of them did. */
  #runAll(connection: object): unknown {
    this.#isSettling = true
    let running: Promise<unknown> | undefined
    for (const write of this.#writes) {
      if (running === undefined) {
        const returned: unknown = write(connection)
        if (returned instanceof Promise) running = returned
      } else {
        running = running.then(() => write(connection))
      }
    }
    return running
  }

  /** Refuses parts that are emitted during the settlement: they would be lost silently. */
  #refuseLate(): void {
    if (!this.#isSettling) return
    const message =
      'The handler has completed. Emit messages and jobs in the handler, not in the callback of within().'
    throw new MillraceError('invalid_argument', { message })
  }
}
