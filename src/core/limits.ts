/**
 * Limits as data. The numbers are those of SQS, the reference for every backend; the docs table and
 * the error texts are made from the same values.
 */
export interface Range {
  readonly min: number
  readonly max: number
  readonly unit: string
}

export const limits = {
  visibilityMs: { min: 0, max: 43_200_000, unit: 'ms' },
  /** Setting of a queue, and of a message on the SQS wire. */
  delayMs: { min: 0, max: 900_000, unit: 'ms' },
  /** Of a message or job that the library sends: ten years. */
  messageDelayMs: { min: 0, max: 315_576_000_000, unit: 'ms' },
  retentionMs: { min: 60_000, max: 1_209_600_000, unit: 'ms' },
  receiveWaitMs: { min: 0, max: 20_000, unit: 'ms' },
  /** Setting of a queue: how large a message may be, body and attributes together. */
  messageBytesMax: { min: 1_024, max: 1_048_576, unit: 'bytes' },
  maxReceives: { min: 1, max: 1_000, unit: 'receives' },
  messagesPerCall: { min: 1, max: 1_000, unit: 'messages' },
  pageSize: { min: 1, max: 1_000, unit: 'rows' },
  movesPerSecond: { min: 1, max: 500, unit: 'messages a second' },
  cooldownMs: { min: 0, max: 3_600_000, unit: 'ms' },
  queueNameLength: { min: 1, max: 80, unit: 'characters' },
  groupLength: { min: 1, max: 128, unit: 'characters' },
  deduplicationIdLength: { min: 1, max: 128, unit: 'characters' },
  receiveAttemptIdLength: { min: 1, max: 128, unit: 'characters' },
  attributesPerMessage: { min: 0, max: 10, unit: 'attributes' },
  attributeNameLength: { min: 1, max: 256, unit: 'characters' },
  tagsPerQueue: { min: 0, max: 50, unit: 'tags' },
  tagKeyLength: { min: 1, max: 128, unit: 'characters' },
  tagValueLength: { min: 0, max: 256, unit: 'characters' },
  redriveSources: { min: 1, max: 10, unit: 'queues' },
  jobTypeLength: { min: 1, max: 128, unit: 'characters' },
  jobAttempts: { min: 1, max: 1_000, unit: 'attempts' },
  ownerLength: { min: 1, max: 256, unit: 'characters' },
  idempotencyKeyLength: { min: 1, max: 256, unit: 'characters' },
  /** From when a job is due until it fails if it still waits. */
  jobExpiryMs: { min: 1_000, max: 315_576_000_000, unit: 'ms' },
  idempotencyMs: { min: 1_000, max: 7_776_000_000, unit: 'ms' },
  /** Of the key of a throttle or a debounce. */
  windowKeyLength: { min: 1, max: 256, unit: 'characters' },
  /** The window of a throttle or a debounce, and the longest wait of a debounce. */
  windowMs: { min: 100, max: 2_592_000_000, unit: 'ms' },
  /** Of a job's tier, its trace id and each of its tags. */
  jobLabelLength: { min: 1, max: 256, unit: 'characters' },
  tagsPerJob: { min: 0, max: 20, unit: 'tags' },
  errorLength: { min: 0, max: 1_024, unit: 'characters' },
  reasonLength: { min: 0, max: 1_024, unit: 'characters' },
  /** Of the error of an attempt, with stack and causes, as JSON. */
  failureLength: { min: 1, max: 16_384, unit: 'characters' },
  /** Lines of a handler's log that one call stores. */
  logLines: { min: 0, max: 1_000, unit: 'lines' },
  /** Of these lines as JSON. */
  logLength: { min: 1, max: 65_536, unit: 'characters' },
  concurrency: { min: 1, max: 100_000, unit: 'at once' },
  rateMax: { min: 1, max: 1_000_000, unit: 'starts' },
  ratePerMs: { min: 100, max: 86_400_000, unit: 'ms' },
  /** Keys of the body by which the ceilings of one queue count. */
  limitKeys: { min: 0, max: 4, unit: 'keys' },
  limitKeyLength: { min: 1, max: 128, unit: 'characters' },
  /** Of the value that a message has for such a key, written as text. */
  limitValueLength: { min: 0, max: 128, unit: 'characters' },
  switchNameLength: { min: 1, max: 128, unit: 'characters' },
  /** What a kill switch means: a queue, a type, a tier, a tenant, a name. */
  switchValueLength: { min: 1, max: 256, unit: 'characters' },
  switchByLength: { min: 1, max: 256, unit: 'characters' },
  switchNoteLength: { min: 0, max: 1_024, unit: 'characters' },
  switchMs: { min: 1, max: 31_622_400_000, unit: 'ms' },
  backoffMs: { min: 0, max: 43_200_000, unit: 'ms' },
  handlerTimeoutMs: { min: 1, max: 43_200_000, unit: 'ms' },
  finishedJobMs: { min: 60_000, max: 315_360_000_000, unit: 'ms' },
  budgetMs: { min: 1_000, max: 31_622_400_000, unit: 'ms' },
  /** Of a limit, and of one spending. */
  budgetAmount: { min: 0, max: 1_000_000_000_000_000, unit: 'of its unit' },
  budgetUnitLength: { min: 1, max: 32, unit: 'characters' },
  /** Budgets that an app declares, and that one report spends from. */
  budgetsPerCall: { min: 0, max: 100, unit: 'budgets' },
  alarmNameLength: { min: 1, max: 255, unit: 'characters' },
  alarmOwnerLength: { min: 1, max: 512, unit: 'characters' },
  alarmDescriptionLength: { min: 0, max: 1_024, unit: 'characters' },
  alarmReasonLength: { min: 0, max: 1_023, unit: 'characters' },
  alarmPeriodMs: { min: 60_000, max: 86_400_000, unit: 'ms' },
  alarmActions: { min: 0, max: 5, unit: 'actions' },
  webhookLength: { min: 1, max: 2_048, unit: 'characters' },
  alarmPeriods: { min: 1, max: 1_440, unit: 'periods' },
  stackNameLength: { min: 1, max: 256, unit: 'characters' },
  stackDocumentLength: { min: 1, max: 16_777_216, unit: 'characters' },
  /** Of a schedule that is set at run time. */
  scheduleNameLength: { min: 1, max: 256, unit: 'characters' },
  /** With the app and the stage. */
  storedScheduleNameLength: { min: 1, max: 512, unit: 'characters' },
  /** The queue, and the job type, of a schedule that is set at run time. */
  scheduleTargetLength: { min: 1, max: 256, unit: 'characters' },
  scheduleRuleLength: { min: 1, max: 512, unit: 'characters' },
  scheduleCronLength: { min: 1, max: 256, unit: 'characters' },
  scheduleEveryMs: { min: 1_000, max: 31_536_000_000, unit: 'ms' },
  /** How far away the end of a schedule may be: ten years. */
  scheduleUntilMs: { min: 0, max: 315_619_200_000, unit: 'ms' },
  /** What a schedule that is set at run time sends, as JSON. */
  scheduleDefinitionLength: { min: 1, max: 1_048_576, unit: 'characters' },
  janitorMs: { min: 1_000, max: 31_536_000_000, unit: 'ms' },
  /** Of a value that an app sets under a name of its own. */
  metricNameLength: { min: 1, max: 255, unit: 'characters' },
  metricNames: { min: 0, max: 1_000, unit: 'names' },
  /** How long a person has a message to themselves. */
  inboxLeaseMs: { min: 1_000, max: 43_200_000, unit: 'ms' },
  inboxByLength: { min: 1, max: 256, unit: 'characters' },
  inboxNoteLength: { min: 1, max: 4_096, unit: 'characters' },
  /** Of a flow, and of each of its units. */
  flowIdLength: { min: 1, max: 256, unit: 'characters' },
  /** What a caller keeps with a flow. */
  flowDataLength: { min: 0, max: 1_048_576, unit: 'characters' },
  flowNameLength: { min: 1, max: 256, unit: 'characters' },
  flowDeadlineMs: { min: 1_000, max: 31_622_400_000, unit: 'ms' },
  flowKeepMs: { min: 60_000, max: 315_360_000_000, unit: 'ms' },
  chainSteps: { min: 1, max: 100, unit: 'steps' },
  collectorNameLength: { min: 1, max: 256, unit: 'characters' },
  /** What items have in common that are merged. */
  collectorKeyLength: { min: 1, max: 256, unit: 'characters' },
  itemIdLength: { min: 1, max: 256, unit: 'characters' },
  /** Of an item as JSON. */
  itemLength: { min: 1, max: 1_048_576, unit: 'characters' },
  /** From the first item of a key to its merge, when each further one restarts the window. */
  maxWaitMs: { min: 0, max: 43_200_000, unit: 'ms' },
  batchItems: { min: 1, max: 1_000, unit: 'items' },
  batchBytes: { min: 1, max: 16_777_216, unit: 'bytes' },
  /** How long the ids of merged items are remembered. */
  rememberMs: { min: 0, max: 7_776_000_000, unit: 'ms' },
  /** How long a trigger of a collector is waited for. */
  overdueMs: { min: 0, max: 86_400_000, unit: 'ms' },
  /** Items that a batch handler is called with. */
  batchSize: { min: 1, max: 1_000, unit: 'items' },
  /** How long a batch waits for further items. */
  batchWindowMs: { min: 0, max: 300_000, unit: 'ms' },
  pollWeight: { min: 1, max: 1_000, unit: 'times' },
} as const

/** Messages of one queue that may be leased at the same time. */
export const inFlightMax = 120_000

/** How long a deduplication id, or the id of a receive attempt, is remembered. */
export const deduplicationWindowMs = 300_000

/** A lease, with all its extensions, ends this long after it was given. */
export const leaseMsMax: number = limits.visibilityMs.max

/** How long it is kept what people did with a message. */
export const inboxHistoryMs = 7_776_000_000

/** Notes that one message may have. */
export const inboxNotesMax = 1_000

/** Other entries in the history of one message; beyond them the oldest are forgotten. */
export const inboxEventsMax = 1_000

export function describeRange({ min, max, unit }: Range): string {
  return `${min} to ${max} ${unit}`
}
