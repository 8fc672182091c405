/**
 * Settlements that only acknowledge messages, complete jobs or release what was not started. Those that
 * follow each other are settled together, with a few statements for all of them.
 */

import type { Outcome, Settlement } from '../../backends/backend.ts'
import type { Receipt } from '../../core/receipt.ts'
import type { Queue } from '../queues/queue.ts'
import { change, oneOf } from '../statements.ts'
import type { Steps } from '../steps.ts'
import type { Transaction } from '../transaction.ts'
import { expiryOf } from './expiry.ts'
import { findRows, leaseRefusal } from './leases.ts'
import { unleasedToken } from './message-rows.ts'
import type { Acknowledgement } from './native-messages.ts'

const release = change(`
  UPDATE message SET
    state = 0, held_until = NULL, token = ${unleasedToken}, bucket = NULL,
    receive_count = receive_count - 1
  WHERE ${oneOf('sequence')}`)

/** A settlement and the receipt that it names. */
export interface Received {
  readonly settlement: Settlement
  readonly receipt: Receipt | undefined
}

interface PlainSettlement extends Settlement {
  readonly outcome: Extract<Outcome, { readonly kind: 'acknowledge' | 'release' }>
}

interface Plain {
  readonly settlement: PlainSettlement
  readonly receipt: Receipt
}

/** Whether it does nothing but acknowledge a message, complete a job or release it. */
export function isPlain(settlement: Settlement): settlement is PlainSettlement {
  const { kind } = settlement.outcome
  if (kind !== 'acknowledge' && kind !== 'release') return false
  for (const part in settlement) if (part !== 'receipt' && part !== 'outcome') return false
  return true
}

/** The plain settlements of one kind from `start` on, each of another message. */
export function plainRun(
  queue: Queue,
  received: readonly Received[],
  start: number,
): readonly Plain[] {
  if (queue.settings.type === 'fifo') return []
  const run: Plain[] = []
  let last = -1
  let seen: Set<number> | undefined
  for (let index = start; index < received.length; index += 1) {
    const { settlement, receipt } = received[index] ?? {}
    if (settlement === undefined || receipt === undefined || !isPlain(settlement)) break
    if (settlement.outcome.kind !== (run[0]?.settlement ?? settlement).outcome.kind) break
    // Rising numbers are those of different messages: most come in the order of their claim.
    if (receipt.sequence <= last) seen ??= new Set(run.map(({ receipt }) => receipt.sequence))
    if (seen?.has(receipt.sequence)) break
    seen?.add(receipt.sequence)
    last = receipt.sequence
    run.push({ settlement, receipt })
  }
  return run
}

const none: ReadonlySet<number> = new Set()

/** Settles a run; returns the sequence numbers of those that it has settled. */
export function* settleTogether(
  tx: Transaction,
  queue: Queue,
  run: readonly Plain[],
): Steps<ReadonlySet<number>> {
  const [first] = run
  if (first === undefined) return none
  if (first.settlement.outcome.kind === 'release') return yield* releaseTogether(tx, queue, run)
  const acknowledgements = run.map(({ settlement: { outcome }, receipt }) => ({
    receipt,
    result: outcome.kind === 'acknowledge' ? outcome.result : undefined,
  }))
  return yield* acknowledgeTogether(tx, queue, acknowledgements)
}

/** Acknowledges ordinary messages and jobs of a standard queue; each message is named once. */
export function* acknowledgeTogether(
  tx: Transaction,
  queue: Queue,
  acknowledgements: readonly Acknowledgement[],
): Steps<ReadonlySet<number>> {
  const settled = yield* tx.messages.acknowledge(queue, acknowledgements)
  if (settled.size > 0) {
    tx.count(queue, 'leased', -settled.size)
    tx.count(queue, 'acknowledged', settled.size)
  }
  return settled
}

/** Those of tenants, and those that have expired meanwhile, are left to be released one by one. */
function* releaseTogether(
  tx: Transaction,
  queue: Queue,
  run: readonly Plain[],
): Steps<ReadonlySet<number>> {
  if (run.length === 1) return none
  const rows = yield* findRows(
    tx,
    queue,
    run.map(({ receipt }) => receipt),
  )
  const isLive = ({ receipt }: Plain): boolean => {
    const row = rows.get(receipt.sequence)
    if (row === undefined || row.group_name !== null) return false
    if (leaseRefusal(tx, row, receipt) !== undefined) return false
    return expiryOf(queue, row, row.job !== null) > tx.now
  }
  const sequences = run.filter(isLive).map(({ receipt }) => receipt.sequence)
  if (sequences.length === 0) return none
  yield* tx.run(release, JSON.stringify(sequences))
  countReturned(tx, queue, sequences.length)
  return new Set(sequences)
}

/** Leased messages are ready again. */
export function countReturned(tx: Transaction, queue: Queue, count: number): void {
  tx.count(queue, 'leased', -count)
  tx.count(queue, 'ready', count)
  tx.gainedReady(queue)
}
