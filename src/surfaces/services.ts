/**
 * What surfaces need of the server they belong to. The server hands it to them, so a surface knows use cases and
 * the port, and never how a store or an app was opened.
 */
import type { Backend } from '../backends/backend.ts'
import type { App } from '../contracts/define-app.ts'
import type { Ports } from '../core/ports.ts'
import type { Alarms } from '../operations/alarms/alarms.ts'
import type { Inbox } from '../operations/inbox.ts'
import type { MetricReader } from '../operations/metrics/metrics.ts'
import type { Switches } from '../operations/switches.ts'

export interface Services {
  /** Resolves when the store can be used; rejects with the reason when it cannot. */
  ready(): Promise<void>
  /** Aborted when the server begins to stop. */
  readonly stopping: AbortSignal
  /** The app that is served, if one is. */
  readonly mill: ServedApp | null
  /**
   * The queues of the store, declared by an app or not. Receives are held by the kill switches that the
   * environment has on. Messages of declared queues are checked against their contracts.
   */
  readonly store: Backend
  /** A queue of the store as people work in it, declared by an app or not. */
  inbox(queue: string): Inbox
  /** Metrics of all queues of the store. */
  readonly metrics: MetricReader
  /** All alarms of the store. */
  readonly alarms: Alarms
  /** Whether other machines can reach the server. */
  readonly isPublic: boolean
  readonly ports: Ports
}

/** An open app without the types of its declaration; what `open` resolves with is one. */
export interface ServedApp {
  readonly app: App
  /** By their keys in the app. */
  readonly queues: Readonly<Record<string, { readonly name: string }>>
  /** Typed by the declaration, which requests are checked against as they come. */
  readonly jobs: object
  readonly switches: Switches
  readonly metrics: MetricReader
  readonly alarms: Alarms
  inbox(queue: string): Inbox
}
