/**
 * Shares commits, and keeps the order of calls. Operations that arrive while a transaction is under way run
 * together in the next one, one after the other, and resolve after its commit. An operation that fails does
 * not affect the others. One whose transaction met another one is run again.
 *
 * Calls with entries can be joined: those that follow each other and have the same key run as one operation
 * with the entries of all of them.
 */
import { MillraceError } from '../../../core/millrace-error.ts'
import { afterTurns } from '../../../core/pause.ts'
import type { Ports } from '../../../core/ports.ts'
import { Answer, type Step } from '../../../engine/steps.ts'
import type { Transaction } from '../../../engine/transaction.ts'
import { drive } from './drive.ts'
import { isConflict, isUnreachable, storageError } from './faults.ts'
import type { PostgresTransaction } from './transaction.ts'

/** Operations of one transaction at most, so that none of them waits long for its commit. */
const groupMax = 100

/** Entries of joined calls at most. */
const entriesMax = 1_000

/** How often operations run again when other transactions were in their way. */
const conflictsMax = 20

/** The pause before a lost server is tried again. */
const reconnectMs = 100

interface Operation {
  readonly rule: (tx: Transaction) => Step<unknown>
  readonly resolve: (value: never) => void
  readonly reject: (error: unknown) => void
  /** How it is joined with others. */
  readonly joining?: Joining | undefined
  result: unknown
  refusal: unknown
}

interface Joining {
  readonly key: string
  readonly entries: readonly never[]
  readonly rule: (tx: Transaction, entries: readonly never[]) => Step<readonly unknown[]>
}

export interface GroupWriterOptions {
  readonly ports: Ports
  /** How long operations wait for a server that cannot be reached before they fail. */
  readonly patienceMs: number
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
    return this.#submit(rule)
  }

  /** Runs a rule that returns a result for each entry, once for the entries of calls with the same key. */
  submitEntries<Entry, T>(
    key: string,
    entries: readonly Entry[],
    rule: (tx: Transaction, entries: readonly Entry[]) => Step<readonly T[]>,
  ): Promise<readonly T[]> {
    return this.#submit((tx) => rule(tx, entries), { key, entries, rule } as unknown as Joining)
  }

  #submit<T>(rule: (tx: Transaction) => Step<T>, joining?: Joining): Promise<T> {
    if (this.#isClosed) return Promise.reject(new MillraceError('store_closed'))
    return new Promise<T>((resolve, reject) => {
      const operation = { rule, resolve, reject, joining, result: undefined, refusal: undefined }
      this.#pending.push(operation)
      if (this.#isRunning) return
      this.#isRunning = true
      // Calls of the same turn share the transaction.
      this.#options.ports.timers.soon(() => void this.#runAll())
    })
  }

  /** Takes nothing more, and resolves when what has arrived was run. */
  async close(): Promise<void> {
    if (this.#isClosed) return
    const last = this.#isRunning ? this.#submit(noSteps) : undefined
    this.#isClosed = true
    await last?.catch(() => undefined)
  }

  async #runAll(): Promise<void> {
    while (this.#pending.length > 0) await this.#runGroup(this.#nextGroup())
    this.#isRunning = false
  }

  #nextGroup(): readonly Operation[] {
    const group: Operation[] = []
    let next = 0
    while (next < this.#pending.length && group.length < groupMax) {
      const parts = joinedFrom(this.#pending, next)
      group.push(this.#joined(parts))
      next += parts.length
    }
    this.#pending.splice(0, next)
    return group
  }

  #joined(parts: readonly Operation[]): Operation {
    const [first] = parts
    if (first?.joining === undefined || parts.length === 1) return first as Operation
    const { rule } = first.joining
    const entries = parts.flatMap(({ joining }) => joining?.entries ?? [])
    return {
      rule: (tx) => rule(tx, entries),
      resolve: (results: readonly unknown[]) => {
        let start = 0
        for (const { resolve, joining } of parts) {
          const end = start + (joining?.entries.length ?? 0)
          resolve(results.slice(start, end) as never)
          start = end
        }
      },
      reject: (error) => {
        const isLost = error instanceof MillraceError && error.code === 'store_unreachable'
        if (isLost) for (const { reject } of parts) reject(error)
        // One of them is to blame, and does not fail the others.
        else this.#pending.unshift(...parts.map((part) => ({ ...part, joining: undefined })))
      },
      result: undefined,
      refusal: undefined,
    }
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
        } else if (
          isUnreachable(error) &&
          clock.monotonic() - startedMs < this.#options.patienceMs
        ) {
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

const noSteps = (): Step<void> => new Answer(undefined)

/** The operations from `start` on that can run as one; at least the first. */
function joinedFrom(operations: readonly Operation[], start: number): readonly Operation[] {
  const key = operations[start]?.joining?.key
  let end = start + 1
  let entries = operations[start]?.joining?.entries.length ?? 0
  for (; key !== undefined && end < operations.length; end += 1) {
    const { joining } = operations[end] ?? {}
    entries += joining?.entries.length ?? 0
    if (joining?.key !== key || entries > entriesMax) break
  }
  return operations.slice(start, end)
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
