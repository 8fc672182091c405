/**
 * What a backend can do, as data: read when an app is opened, by the contract suite for its skips,
 * and by the generated table in the docs.
 */
export interface Capabilities {
  readonly name: string
  /** Settling and the messages it emits are one transaction of the store. */
  readonly atomicSettle: boolean
  readonly fifo: boolean
  /** The receipt of a lease that was followed by another one is refused. */
  readonly fencedReceipts: boolean
  /** A receipt may be used after its lease, as SQS has it, if the caller asks for that. */
  readonly lateReceipts: boolean
  /** Standard queues give out the oldest message first. */
  readonly ordered: boolean
  /** Levels, ages and counts of expired messages are exact at every moment. */
  readonly exactFigures: boolean
  /** A receive that is released does not count. */
  readonly uncountedRelease: boolean
  /** Messages can be read without receiving them. */
  readonly peek: boolean
  /** A receive in one process is woken by a send in another. */
  readonly wakesAcrossProcesses: boolean
  /** The ids of receive attempts are remembered. */
  readonly receiveAttempts: boolean
  /** Acknowledged writes survive a power cut. */
  readonly durable: boolean
  /** Jobs with a status, a result and a history of attempts. */
  readonly trackedJobs: boolean
  /** Jobs can be stored in a transaction of the caller, together with the caller's own rows. */
  readonly callerTransactions: boolean
  /** One tenant's backlog does not keep the others of a standard queue waiting. */
  readonly fairTenants: boolean
  /** Ceilings on what runs at once and on the rate, held for all receivers together. */
  readonly ceilings: boolean
  /** Kill switches and budgets, which stop work without stopping workers. */
  readonly killSwitches: boolean
  /** Fan-out and fan-in, and chains. */
  readonly flows: boolean
  /** Items that are staged and merged by key. */
  readonly collectors: boolean
  /** Schedules of which each tick happens once. */
  readonly schedules: boolean
  /** Metrics by the minute, and alarms on them. */
  readonly metrics: boolean
  /** Messages that people claim. */
  readonly inboxes: boolean
  /** A record of the stacks that went up. */
  readonly stacks: boolean
  /** Calls run side by side, and while the program works. So a worker claims while its handlers run. */
  readonly concurrentCalls: boolean
  /** The store can be copied while it is in use. */
  readonly backups: boolean
  /** The longest delay of a message. */
  readonly delayMsMax: number
}
