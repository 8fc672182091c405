/** Lends the store's own connection to a function of the caller, for writes in the open transaction. */
import type { DatabaseSync } from 'node:sqlite'
import { MillraceError } from '../../../core/millrace-error.ts'
import type { Settlement } from '../../backend.ts'
import { endsTransaction as endsIt, LendingGuard } from './lending-guard.ts'
import { isDiskFault } from './storage-fault.ts'

/** Those that are or were lent. */
const lent = new WeakSet<object>()

/** A guard makes all statements of a connection be compiled once more, so it comes when it is needed. */
const guards = new WeakMap<DatabaseSync, LendingGuard>()

function guardOf(db: DatabaseSync): LendingGuard {
  const guard = guards.get(db) ?? new LendingGuard(db)
  guards.set(db, guard)
  return guard
}

/** Whether the connection belongs to a settlement, whose transaction gives out numbers of its own. */
export function isLent(connection: object): boolean {
  return lent.has(connection)
}

interface LendingTransaction {
  readonly session: { readonly db: DatabaseSync }
  wroteRow(): void
}

/**
 * Runs the caller's own writes last, when nothing of ours can fail any more. The connection is lent: it
 * can be used until the function returns, since the next write on it would be part of another commit.
 */
export function runOnLentConnection(
  tx: LendingTransaction,
  within: NonNullable<Settlement['within']>,
): void {
  // Whatever it writes, the writer has to undo when it throws.
  tx.wroteRow()
  const { db } = tx.session
  const guard = guardOf(db)
  const { proxy, revoke } = Proxy.revocable(db, { get: boundMember })
  lent.add(proxy)
  try {
    // The type says that nothing is returned, but async functions fit it too.
    const answer: unknown = guard.during(() => within(proxy))
    if (answer instanceof Promise) {
      answer.catch(() => undefined)
      throw withinFailed('The callback of within() must be synchronous, but it returned a promise.')
    }
    if (!db.isTransaction) throw notItsOwn()
  } catch (error) {
    // A full disk concerns all operations. But this connection has the lock: what is busy, or cannot be
    // opened, is another one, which the function has made.
    if (isDiskFault(error) || isOurs(error)) throw error
    const refusal = guard.explain(error)
    if (refusal !== undefined) throw withinFailed(refusal)
    throw new MillraceError('within_failed', { cause: error })
  } finally {
    revoke()
  }
}

/** Methods work on the connection itself; those that take SQL refuse what would end the transaction. */
function boundMember<T extends object>(target: T, key: string | symbol): unknown {
  const value: unknown = Reflect.get(target, key, target)
  if (typeof value !== 'function') return value
  if (closing.has(key)) throw notItsOwn()
  if (key === 'setAuthorizer') throw withinFailed('The connection is lent, and keeps its guard.')
  if (key !== 'exec' && key !== 'prepare') return value.bind(target)
  return (text: unknown, ...more: readonly unknown[]): unknown => {
    if (typeof text === 'string' && endsTransaction(text)) throw notItsOwn()
    return Reflect.apply(value, target, [text, ...more])
  }
}

const closing: ReadonlySet<string | symbol> = new Set(['open', 'close', Symbol.dispose])

/** Neighbours share the transaction: a commit half-way would keep, and later repeat, what they did. */
function endsTransaction(sql: string): boolean {
  const statements = sql.replaceAll(quotedOrComment, ' ').replaceAll(trigger, ' ')
  return ending.test(statements)
}

const quotedOrComment = /'[^']*'|"[^"]*"|`[^`]*`|\[[^\]]*\]|--[^\n]*|\/\*[\s\S]*?(?:\*\/|$)/g
const trigger = /\bCREATE\s+(?:TEMP(?:ORARY)?\s+)?TRIGGER\b[\s\S]*?;\s*END\b/gi
const ending = /(?:^|;)\s*(?:BEGIN|COMMIT|END|ROLLBACK(?!\s+TO))\b/i

function notItsOwn(): MillraceError {
  return withinFailed(endsIt)
}

function isOurs(error: unknown): boolean {
  return error instanceof MillraceError && error.code === 'within_failed'
}

function withinFailed(message: string): MillraceError {
  return new MillraceError('within_failed', { message })
}
