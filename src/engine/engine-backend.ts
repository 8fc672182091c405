/** A complete backend on a database: the rules of the engine, run by the database. */
import type { Backend } from '../backends/backend.ts'
import { carriedStore } from './carried/carried-store.ts'
import type { Database } from './database.ts'
import { findingStore } from './findings/findings.ts'
import { jobStore } from './jobs/job-store.ts'
import { EmptyReceives } from './messages/empty-receives.ts'
import { extendLeases } from './messages/extending.ts'
import { readLeaseStates, readLeases } from './messages/leases.ts'
import { insertMoveTask, markCancelling, readMoveTasks } from './messages/move-tasks.ts'
import { peekMessages } from './messages/peeking.ts'
import { sendMessages } from './messages/sending.ts'
import { settle } from './messages/settling-alone.ts'
import { metricStore } from './metrics/metric-store.ts'
import { boundStore, changes, type Operations, reads } from './operations.ts'
import {
  discardMessages,
  insertQueue,
  readQueue,
  readQueuePage,
  readSourcePage,
  removeQueue,
  updateSettings,
  updateTags,
} from './queues/queues.ts'
import { queueStatistics } from './queues/statistics.ts'
import {
  alarmOperations,
  budgetOperations,
  collectorOperations,
  flowOperations,
  inboxOperations,
  keyOperations,
  scheduleOperations,
  stackOperations,
  switchOperations,
} from './stores.ts'
import { sweepSlice } from './sweep.ts'

/** The methods of a backend that are one rule each. */
type QueueMethods = Pick<
  Backend,
  | 'createQueue'
  | 'readQueue'
  | 'listQueues'
  | 'changeQueue'
  | 'tagQueue'
  | 'deleteQueue'
  | 'purgeQueue'
  | 'queueStatistics'
  | 'listDeadLetterSources'
  | 'leaseStates'
  | 'readLeases'
  | 'extend'
  | 'peek'
  | 'startMoveTask'
  | 'listMoveTasks'
  | 'cancelMoveTask'
>

const queueOperations: Operations<QueueMethods> = {
  // Opening an app makes sure of its queues, also on a full disk that is to be drained.
  createQueue: changes(insertQueue),
  readQueue: reads(readQueue),
  listQueues: reads(readQueuePage),
  changeQueue: changes(updateSettings),
  tagQueue: changes(updateTags),
  deleteQueue: changes(removeQueue),
  purgeQueue: changes(discardMessages),
  queueStatistics: reads(queueStatistics),
  listDeadLetterSources: reads(readSourcePage),
  leaseStates: reads(readLeaseStates),
  readLeases: reads(readLeases),
  extend: changes(extendLeases),
  peek: changes(peekMessages),
  startMoveTask: changes(insertMoveTask),
  listMoveTasks: reads(readMoveTasks),
  cancelMoveTask: changes(markCancelling),
}

export function engineBackend(database: Database): Backend {
  const emptyReceives = new EmptyReceives()
  return {
    capabilities: database.capabilities,
    otherThread: database.otherThread,
    jobs: jobStore(database),
    collectors: boundStore(database, collectorOperations),
    switches: boundStore(database, switchOperations),
    budgets: boundStore(database, budgetOperations),
    flows: boundStore(database, flowOperations),
    inboxes: boundStore(database, inboxOperations),
    alarms: boundStore(database, alarmOperations),
    schedules: boundStore(database, scheduleOperations),
    findings: findingStore(database),
    stacks: boundStore(database, stackOperations),
    keys: { sealing: null, ...boundStore(database, keyOperations) },
    metrics: metricStore(database, emptyReceives),
    carried: carriedStore(database),
    ...boundStore(database, queueOperations),

    send: (request) => database.add((tx) => sendMessages(tx, request)),
    // A receive that found nothing is counted in memory: it costs no commit.
    receive: (request) => database.receive(request, () => emptyReceives.note(request.queue)),
    whenReady: (request) => database.whenReady(request),
    settle: (request) => settle(database, request),
    sweep: () => database.change(sweepSlice),
    check: () => database.check(),
    backup: (request) => database.backup(request),
    close: () => database.close(),
  }
}
