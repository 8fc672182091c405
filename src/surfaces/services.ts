/**
 * What surfaces need from their server. The server passes it in, so a surface depends on use cases and the
 * port, and not on how a store or an app is opened.
 */
import type { Backend } from '../backends/backend.ts'
import type { App } from '../contracts/define-app.ts'
import type { Ports } from '../core/ports.ts'
import type { Alarms } from '../operations/alarms/alarms.ts'
import type { Budgets } from '../operations/budgets.ts'
import type { Inbox } from '../operations/inbox.ts'
import type { MetricReader } from '../operations/metrics/metrics.ts'
import type { Switches } from '../operations/switches.ts'
import type { JobReports } from '../worker/job-reports.ts'

export interface Services {
  /** Resolves when the store can be used; rejects with the reason when it cannot. */
  ready(): Promise<void>
  /** Aborted when the server begins to stop. */
  readonly stopping: AbortSignal
  /** The served app, if any. */
  readonly mill: ServedApp | null
  /**
   * The queues of the store, declared by an app or not. Receives are held by the kill switches that the
   * environment has on. Messages of declared queues are checked against their contracts.
   */
  readonly store: Backend
  /** Reports on jobs of the store by the programs that run them. */
  readonly reports: JobReports
  /** The inbox of a queue, declared by an app or not. */
  inbox(queue: string): Inbox
  /** Metrics of all queues of the store. */
  readonly metrics: MetricReader
  /** All alarms of the store. */
  readonly alarms: Alarms
  /** All budgets of the store. */
  readonly budgets: Budgets
  /** Whether other machines can reach the server. */
  readonly isPublic: boolean
  readonly ports: Ports
}

/** An open app, as from `open`, without the types of its declaration. */
export interface ServedApp {
  readonly app: App
  /** By key in the app. */
  readonly queues: Readonly<Record<string, { readonly name: string }>>
  /** Typed by the declaration. Requests are checked against it on arrival. */
  readonly jobs: object
  readonly reports: JobReports
  readonly switches: Switches
  readonly budgets: Budgets
  readonly metrics: MetricReader
  readonly alarms: Alarms
  inbox(queue: string): Inbox
}
