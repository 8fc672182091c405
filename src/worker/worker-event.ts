/** The events of a worker, for logs, metrics and tests. */
export type {
  Transition as WorkerEvent,
  TransitionName as WorkerEventName,
} from '../observability/transition-log.ts'
