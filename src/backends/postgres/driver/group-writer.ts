/**
 * Shares commits, and keeps the order of a process's calls. Operations that arrive while a transaction is
 * under way run together in the next one, one after the other, and resolve after its commit. An operation
 * that fails does not affect the others. One whose transaction met another one is run again.
 */
import { MillraceError } from '../../../core/millrace-error.ts'
import { afterTurns } from '../../../core/pause.ts'
import type { Ports } from '../../../core/ports.ts'
import type { Step } from '../../../engine/steps.ts'
import type { Transaction } from '../../../engine/transaction.ts'
import { drive } from './drive.ts'
import { isConflict, isUnreachable, storageError } from './faults.ts'
import type { PostgresTransaction } from './transaction.ts'

/** Operations of one transaction at most, so that none of them waits long for its commit. */
const groupMax = 100

/** How often operations run again when other transactions were in their way. */
const conflictsMax = 20

/** How long operations wait for a server that cannot be reached before they fail. */
export const patienceMs = 15_000

/** The pause before a lost server is tried again. */
const reconnectMs = 100

interface Operation {
  readonly rule: (tx: Transaction) => Step<unknown>
  readonly resolve: (value: never) => void
  readonly reject: (error: unknown) => void
  result: unknown
  refusal: unknown
}

export interface GroupWriterOptions {
  readonly ports: Ports
  /** Runs the function in a transaction, and commits. The commit has happened when this resolves. */
  readonly transact: (run: (tx: PostgresTransaction) => Promise<void>) => Promise<void>
}

export class GroupWriter {
  readonly #options: GroupWriterOptions
  #pending: Operation[] = []
  #isRunning = false
  #isClosed = false

  constructor(options: GroupWriterOptions) {
    this.#options = options
  }

  submit<T>(rule: (tx: Transaction) => Step<T>): Promise<T> {
    if (this.#isClosed) return Promise.reject(new MillraceError('store_closed'))
    return new Promise<T>((resolve, reject) => {
      this.#pending.push({ rule, resolve, reject, result: undefined, refusal: undefined })
      if (this.#isRunning) return
      this.#isRunning = true
      // Calls of the same turn share the transaction.
      this.#options.ports.timers.soon(() => void this.#runAll())
    })
  }

  /** Takes nothing more. What has arrived is still run. */
  close(): void {
    this.#isClosed = true
  }

  async #runAll(): Promise<void> {
    while (this.#pending.length > 0) {
      const group = this.#pending.slice(0, groupMax)
      this.#pending = this.#pending.slice(groupMax)
      await this.#runGroup(group)
    }
    this.#isRunning = false
  }

  /** Runs a group until each of its operations has a result. */
  async #runGroup(group: readonly Operation[]): Promise<void> {
    let rest = group
    const { clock } = this.#options.ports
    const startedMs = clock.monotonic()
    for (let conflicts = 0; rest.length > 0; ) {
      let offender: Operation | undefined
      try {
        await this.#options.transact(async (tx) => {
          offender = await applyAll(tx, rest)
          if (offender !== undefined) throw new Undone()
        })
        for (const operation of rest) finish(operation)
        return
      } catch (error) {
        if (error instanceof Undone && offender !== undefined) {
          offender.reject(offender.refusal)
          rest = rest.filter((operation) => operation !== offender)
        } else if (isConflict(error) && conflicts < conflictsMax) {
          conflicts += 1
          await this.#pause(conflicts)
        } else if (isUnreachable(error) && clock.monotonic() - startedMs < patienceMs) {
          // Nothing was committed.
          await this.#pauseMs(reconnectMs)
        } else if (rest.length > 1 && !isUnreachable(error)) {
          // One of them is to blame, and does not fail the others.
          for (const operation of rest) await this.#runGroup([operation])
          return
        } else {
          for (const { reject } of rest) reject(storageError(error))
          return
        }
      }
    }
  }

  #pauseMs(ms: number): Promise<void> {
    return new Promise((resolve) => this.#options.ports.timers.after(ms, resolve))
  }

  /** Turns of the event loop, more after each conflict: the other transaction is about to end. */
  #pause(conflicts: number): Promise<void> {
    const { timers, randomness } = this.#options.ports
    const turns = 1 + Math.floor(randomness.next() * conflicts * 4)
    return new Promise((resolve) => afterTurns(timers, turns, resolve))
  }
}

/** The transaction is rolled back because one operation failed half-way. */
class Undone extends Error {}

/** Runs the operations; returns one that failed after it had changed something. */
async function applyAll(
  tx: PostgresTransaction,
  operations: readonly Operation[],
): Promise<Operation | undefined> {
  for (const operation of operations) {
    operation.refusal = undefined
    const writesBefore = tx.writes
    try {
      operation.result = await drive(operation.rule(tx))
    } catch (error) {
      if (isDatabaseError(error) || isUnreachable(error)) throw tx.failure ?? error
      operation.refusal = error
      if (tx.writes !== writesBefore) return operation
    }
  }
  return undefined
}

/** After an error of the database nothing more of the transaction can run. */
function isDatabaseError(error: unknown): boolean {
  return error instanceof Error && !(error instanceof MillraceError) && 'severity' in error
}

function finish(operation: Operation): void {
  if (operation.refusal === undefined) operation.resolve(operation.result as never)
  else operation.reject(operation.refusal)
}
