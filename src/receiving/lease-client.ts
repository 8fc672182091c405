/**
 * The operations on one lease, for local receivers and wire clients. An expired lease is a normal result,
 * because every worker meets one sooner or later. A request that can never succeed throws.
 */
import type {
  Backend,
  EmittedJob,
  EmittedMessage,
  LeaseRefusal,
  LeaseResult,
  Outcome,
  SendResult,
  Settlement,
  SettleResult,
} from '../backends/backend.ts'
import type { Spending } from '../backends/budget-store.ts'
import type { EmittedStart } from '../backends/flow-store.ts'
import type { EnqueuedJob } from '../backends/job-store.ts'
import { MillraceError } from '../core/millrace-error.ts'

export type Extended =
  | { readonly status: 'extended'; readonly leaseExpiresAt: number }
  | { readonly status: LeaseRefusal }

export type Settled =
  | {
      readonly status: 'settled'
      readonly emitted: readonly SendResult[]
      readonly enqueued: readonly EnqueuedJob[]
    }
  | { readonly status: LeaseRefusal }

export interface LeaseReference {
  /** The queue's name on the backend. */
  readonly queue: string
  readonly receipt: string
}

/** What a settlement stores in its commit. */
export interface EmittedList {
  readonly emits?: readonly EmittedMessage[]
  readonly jobs?: readonly EmittedJob[]
  readonly starts?: readonly EmittedStart[]
  readonly spent?: readonly Spending[]
}

type LeaseStore = Pick<Backend, 'extend' | 'settle'>

export class LeaseClient {
  readonly #backend: LeaseStore

  constructor(backend: LeaseStore) {
    this.#backend = backend
  }

  async extend({ queue, receipt }: LeaseReference, visibilityMs: number): Promise<Extended> {
    const results = await this.#backend.extend({ queue, leases: [{ receipt, visibilityMs }] })
    return answerOf<LeaseResult>(results)
  }

  async settle(
    { queue, receipt }: LeaseReference,
    outcome: Outcome,
    stored?: EmittedList,
  ): Promise<Settled> {
    const settlement: Settlement = { receipt, outcome, ...(stored && partsOf(stored)) }
    return answerOf<SettleResult>(await this.#backend.settle({ queue, settlements: [settlement] }))
  }
}

function partsOf({ emits = [], jobs = [], starts = [], spent = [] }: EmittedList): EmittedList {
  return {
    ...(emits.length > 0 && { emits }),
    ...(jobs.length > 0 && { jobs }),
    ...(starts.length > 0 && { starts }),
    ...(spent.length > 0 && { spent }),
  }
}

type Answer = { readonly status: string }
type Refused = { readonly status: 'refused'; readonly error: MillraceError }

function answerOf<Result extends Answer>(results: readonly Result[]): Exclude<Result, Refused> {
  const [result] = results
  // A backend must return a result for each entry, so this one violates the port.
  if (result === undefined) throw new MillraceError('store_failed')
  if (isRefused(result)) throw result.error
  return result as Exclude<Result, Refused>
}

function isRefused(result: Answer): result is Refused {
  return result.status === 'refused'
}
