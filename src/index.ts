/**
 * Millrace: durable queues, background jobs and pipelines. Declare an app with `defineApp`, open it with `open`, send
 * and receive with `mill.queues`, enqueue and read jobs with `mill.jobs`. The types of records that a store keeps, such
 * as `FlowRecord`, and of the port between Millrace and a store are in `millrace/backend`.
 */
import './app/require-node.ts'

export type { EncryptionKey } from './app/encryption-keys.ts'
export type { Notice } from './app/notice.ts'
export type {
  BackupOptions,
  DeadLetterHandle,
  HandleOf,
  JobsQueueHandle,
  Mill,
  OpenOptions,
  QueueHandle,
} from './app/open.ts'
export { open } from './app/open.ts'
export { type ProgramPart, runUntilSignal, type Stoppable } from './app/run-until-signal.ts'
export {
  type Alarm,
  type AlarmAction,
  type AlarmBuilders,
  type AlarmComparison,
  type AlarmedMetric,
  type AlarmMetric,
  type AlarmOptions,
  type AlarmSeverity,
  type AlarmState,
  type AlarmStatistic,
  alarm,
  type FlowAlarm,
  type MissingData,
  type QueueAlarm,
  type ValueAlarm,
} from './contracts/alarm-declaration.ts'
export {
  type BatchContext,
  type BatchItem,
  type BatchOptions,
  type BatchReturn,
  type BatchRun,
  batch,
  type ItemEnd,
} from './contracts/batch-handler.ts'
export type { Budget, DeclaredBudgets } from './contracts/budget-declaration.ts'
export {
  type ChainOptions,
  type ChainStep,
  chain,
  type DeclaredChain,
  type DeclaredChains,
} from './contracts/chain-declaration.ts'
export {
  type CollectorOptions,
  collector,
  type DeclaredCollector,
  type DeclaredCollectors,
  type ItemInput,
  type TriggersQueue,
  triggers,
} from './contracts/collector-declaration.ts'
export {
  type App,
  type AppDeclaration,
  type AppSettings,
  type DeclaredFlowParts,
  type DeclaredQueues,
  type DefinedApp,
  defineApp,
} from './contracts/define-app.ts'
export {
  type DeclaredFlow,
  type DeclaredFlows,
  type FlowOptions,
  flow,
} from './contracts/flow-declaration.ts'
export {
  deadLetter,
  type HandlerOutcome,
  release,
  retryIn,
  UnrecoverableError,
} from './contracts/handler-outcome.ts'
export type { JanitorOptions } from './contracts/janitor-declaration.ts'
export type { JobContext } from './contracts/job-context.ts'
export {
  type JobInput,
  type JobOutput,
  type JobResult,
  type JobsOptions,
  type JobsQueue,
  type JobType,
  type JobTypeName,
  type JobTypes,
  jobs,
  type KeepFinished,
} from './contracts/jobs-declaration.ts'
export {
  type Backoff,
  type DeclaredQueue,
  type Deduplication,
  type FifoOptions,
  type FifoQueue,
  fifo,
  type KeyLimit,
  type MessageInput,
  type MessageOutput,
  type MessageSchema,
  type OwnDeadLetterQueue,
  type QueueOptions,
  queue,
  type RateLimit,
  type SharedDeadLetterQueue,
  type StandardQueue,
  type WithDeadLetters,
} from './contracts/queue-declaration.ts'
export {
  type CronTiming,
  type DeclaredSchedule,
  type DeclaredSchedules,
  type FixedPayload,
  type IntervalTiming,
  type MissedTicks,
  type ScheduledJob,
  type ScheduledSend,
  type ScheduleOptions,
  type SchedulePayload,
  type SchedulePolicy,
  type ScheduleTarget,
  type ScheduleTiming,
  schedule,
  type TickFacts,
} from './contracts/schedule-declaration.ts'
export type { ScheduleDefinition } from './contracts/schedule-definition.ts'
export type { RuntimeSchedule } from './contracts/schedule-types.ts'
export type { DefaultTiers, Tier, Tiers } from './contracts/tier-declaration.ts'
export type { AlarmMetricName, AlarmRule, AlarmTarget } from './core/alarm-rule.ts'
export type { DueOptions } from './core/due-options.ts'
export type { Duration } from './core/durations.ts'
export { type ErrorCode, errorCodes } from './core/error-codes.ts'
export type { ErrorDetails, Failure } from './core/failure.ts'
export type { HandlerFigures } from './core/handler-figures.ts'
export type { FinishedJobStatus, JobStatus } from './core/job-state.ts'
export { MillraceError, type Violation } from './core/millrace-error.ts'
export {
  type Clock,
  type Ids,
  type Ports,
  type Randomness,
  systemPorts,
  type Timers,
} from './core/ports.ts'
export type { TraceCarrier } from './core/trace-context.ts'
export type {
  ChainHandle,
  ChainProgress,
  ChainRun,
  ChainStatus,
  ListChainsOptions,
  ResumeChainOptions,
  StartedChain,
  StepState,
} from './flows/chain-handle.ts'
export type { AddOptions } from './flows/collector-items.ts'
export type {
  Collected,
  CollectorHandle,
  InspectedKey,
  ListKeysOptions,
  WaitingItem,
} from './flows/collectors.ts'
export type { FlowHandle, FlowWork, ListFlowsOptions } from './flows/flow-handle.ts'
export type {
  EmitChainOptions,
  EmitFlowOptions,
  OpenFlowOptions,
  ParentUnit,
  StartChainOptions,
  Unit,
  UnitFacts,
  UnitOf,
} from './flows/flow-types.ts'
export type { Opened } from './flows/open-flow.ts'
export {
  type ReplacedRows,
  type ReplaceRows,
  replaceRows,
  type SqlRow,
  type SqlValue,
  type StoreConnection,
} from './flows/replace-rows.ts'
export type { Schedule, ScheduleHandle } from './flows/schedule-handle.ts'
export type {
  ListSchedulesOptions,
  NamedSchedule,
  ScheduleMethods,
  Schedules,
} from './flows/schedules.ts'
export type { AppJobs, JobsKey, ListJobsOptions } from './jobs/app-jobs.ts'
export type { JobWorkOptions, Work } from './jobs/emitter.ts'
export type { FinishedJob, Job } from './jobs/job.ts'
export type { EnqueueOptions, EnqueueTogether, JobOptions } from './jobs/job-options.ts'
export type { JobEntry, JobOfType } from './jobs/job-producer.ts'
export type { DebounceOptions, ThrottleOptions } from './jobs/job-windows.ts'
export type { WaitOptions } from './jobs/wait-for-job.ts'
export type { FailedRecord } from './lambda/failed-record.ts'
export type {
  FunctionContext,
  FunctionHandlers,
  FunctionStore,
  RecordFacts,
  StoreHandlers,
} from './lambda/function-types.ts'
export {
  type LambdaHandler,
  type LambdaHandlerOptions,
  lambdaHandler,
  type StoreHandlerOptions,
} from './lambda/lambda-handler.ts'
export type {
  LambdaContext,
  SqsBatch,
  SqsBatchFailures,
  SqsBatchRecord,
} from './lambda/sqs-batch.ts'
export type { SqsClient } from './lambda/sqs-client.ts'
export { sqsSender } from './lambda/sqs-sender.ts'
export type {
  CheckedMessage,
  SqsJobOptions,
  SqsSender,
  SqsSenderOptions,
} from './lambda/sqs-sender-types.ts'
export { type SqsSent, UnsentError, type UnsentMessage } from './lambda/unsent-error.ts'
export type { TickFailure } from './maintenance/due-tick.ts'
export type { JanitorFinding } from './maintenance/janitor-rules.ts'
export type { UndeliveredNotification } from './maintenance/relay.ts'
export type { SweepFailure } from './maintenance/sweeper.ts'
export type { LogFields, Logger } from './observability/logger.ts'
export type { AnyTracerProvider } from './observability/open-telemetry.ts'
export type { AlarmHistoryOptions, Alarms, TestAlarmOptions } from './operations/alarms/alarms.ts'
export type {
  BudgetHistoryOptions,
  Budgets,
  ResetBudgetOptions,
} from './operations/budgets.ts'
export type {
  ClaimedItem,
  ClaimItemOptions,
  EndItemOptions,
  HandledItem,
  Inbox,
  InboxItem,
  InboxMessage,
  ListInboxOptions,
  RenewItemOptions,
  ResolveItemOptions,
} from './operations/inbox.ts'
export type { PeekOptions, QueueInspector, QueuePurger } from './operations/inspect.ts'
export type { MetricReader, MetricSpan, Metrics } from './operations/metrics/metrics.ts'
export type { PrometheusOptions } from './operations/prometheus/prometheus-metrics.ts'
export type { Redrive, RedriveOptions } from './operations/redrive.ts'
export type {
  ActiveSwitch,
  SetSwitchOptions,
  Switches,
  SwitchOn,
  SwitchOptions,
} from './operations/switches.ts'
export type { PreparedMessage, QueueProducer, Sent } from './producer/queue-producer.ts'
export type {
  ExplicitFifoSendOptions,
  FifoSendOptions,
  SendOptions,
  StandardSendOptions,
} from './producer/send-options.ts'
export type { RefusedDelivery } from './receiving/check-deliveries.ts'
export type { Extended, Settled } from './receiving/lease-client.ts'
export { type MessageCodec, messageCodec } from './receiving/message-codec.ts'
export type { QueueConsumer, ReceiveOptions } from './receiving/queue-consumer.ts'
export type { TypedDelivery } from './receiving/typed-delivery.ts'
export { type AbortKind, AbortReason } from './worker/abort-reason.ts'
export type { HandlerContext } from './worker/handler-context.ts'
export type {
  CompletionReport,
  ExtensionReport,
  FailureReport,
  JobReports,
  ProgressReport,
  Reported,
  ReportedError,
} from './worker/job-reports.ts'
export type { Middleware, MiddlewareContext } from './worker/middleware.ts'
export type { Worker } from './worker/worker.ts'
export type { WorkerEvent, WorkerEventName } from './worker/worker-event.ts'
export type { Handler, Handlers, WorkerOptions } from './worker/worker-options.ts'
