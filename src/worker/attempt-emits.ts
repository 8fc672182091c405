/**
 * What a handler emits, collected while it runs and stored in the commit of its acknowledgement. Each part
 * is checked against its contract at once. A refusal fails the attempt when the handler is done.
 */
import type { EmittedJob, EmittedMessage, Settlement } from '../backends/backend.ts'
import type { AddItems, EndBatch } from '../backends/collector-store.ts'
import type { EmittedFlow, MarkUnits } from '../backends/flow-store.ts'
import { MillraceError } from '../core/millrace-error.ts'

/** Everything of a settlement beside its outcome. */
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
    // The list is the one of its kind, which the compiler does not follow through the key.
    const list: Promise<unknown>[] = this.#collected[kind]
    list.push(emitted)
  }

  write(write: Write): void {
    this.#refuseLate()
    this.#writes.push(write)
  }

  /** Ends the batch of a collector that was begun with this delivery. */
  endBatch(batch: EndBatch): void {
    this.#batch = batch
  }

  /** All of it; rejects when any of it was refused. */
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

  #runAll(connection: object): void {
    this.#isSettling = true
    for (const write of this.#writes) refusePromise(write(connection))
  }

  /** All that comes to exist with the completion is on its way: a late one would be lost unheard. */
  #refuseLate(): void {
    if (!this.#isSettling) return
    const message =
      'What comes to exist with a completion is said before it, not within its writes.'
    throw new MillraceError('invalid_argument', { message })
  }
}

/** What goes on after the commit would be part of another one. */
function refusePromise(answer: unknown): void {
  if (!(answer instanceof Promise)) return
  answer.catch(() => undefined)
  throw new TypeError('A write within a settlement must not be asynchronous.')
}
