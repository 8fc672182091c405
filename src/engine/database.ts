/**
 * The port between the engine and a database. A database runs rules, waits for messages, and knows how to
 * check, copy and close itself. Its transactions bring the native steps of `messages/native-messages.ts`.
 */

import type {
  Backup,
  BackupReport,
  Delivery,
  OtherThread,
  Receive,
  WhenReady,
} from '../backends/backend.ts'
import type { Capabilities } from '../backends/capabilities.ts'
import type { Step } from './steps.ts'
import type { Transaction, View } from './transaction.ts'

export interface Database {
  readonly capabilities: Capabilities
  /** How another thread of this process reaches the same store; null where none can. */
  readonly otherThread: OtherThread | null

  /** Runs a rule on the store as it is now, without a transaction. */
  read<T>(rule: (view: View) => Step<T>): Promise<T>
  /**
   * Runs a rule in a transaction and resolves after the commit. A rule that throws changes nothing, and
   * does not affect others that share its commit. For what settles, receives, changes or tidies: it works
   * also when the disk is full, as long as the reserve lasts.
   */
  change<T>(rule: (tx: Transaction) => Step<T>): Promise<T>
  /** The same for what adds messages: refused when the disk is full. */
  add<T>(rule: (tx: Transaction) => Step<T>): Promise<T>
  /** The same for what ends leases. */
  settle<T>(rule: (tx: Transaction) => Step<T>): Promise<T>
  /** The same for entries: those of several calls with the same key may run as one. */
  settleEntries<Entry, T>(
    key: string,
    entries: readonly Entry[],
    rule: (tx: Transaction, entries: readonly Entry[]) => Step<readonly T[]>,
  ): Promise<readonly T[]>
  /** Runs a rule in a transaction that the caller has begun on its own connection to the same store. */
  within<T>(transaction: object, rule: (tx: Transaction) => Step<T>): T

  /** Leases messages by `receiveNow`; waits for the first one. Calls `onEmpty` when there was none. */
  receive(request: Receive, onEmpty: () => void): Promise<readonly Delivery[]>
  whenReady(request: WhenReady): Promise<void>

  check(): Promise<void>
  backup(request: Backup): Promise<BackupReport>
  close(): Promise<void>
}
