/**
 * Generates reference pages from code, so that they stay correct: errors, limits, capabilities of the backends,
 * the import diagram, the states of a job, and the doctor's rules. With `--check` it writes nothing and fails if
 * a page is out of date.
 */
import { readFileSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import type { Capabilities } from '../src/backends/capabilities.ts'
import { postgresCapabilities } from '../src/backends/postgres/capabilities.ts'
import { sqliteCapabilities } from '../src/backends/sqlite/capabilities.ts'
import { doctorRules } from '../src/contracts/doctor.ts'
import { describeDuration } from '../src/core/durations.ts'
import { errorCodes } from '../src/core/error-codes.ts'
import { jobLabelNames } from '../src/core/job-labels.ts'
import { isFinished, jobStatuses, jobTransitions } from '../src/core/job-state.ts'
import {
  deduplicationWindowMs,
  inFlightMax,
  leaseMsMax,
  limits,
  type Range,
} from '../src/core/limits.ts'
import { importRules } from '../test/repository/import-rules.ts'

const root = fileURLToPath(new URL('..', import.meta.url))
const backends: readonly Capabilities[] = [sqliteCapabilities, postgresCapabilities]

const limitNames: Readonly<Record<keyof typeof limits, string>> = {
  visibilityMs: 'Visibility timeout of a queue, a receive, an extension or a retry',
  delayMs: 'Delay of a queue, or of a message sent over the SQS protocol',
  messageDelayMs: 'Delay of a message or a job, or time until its `runAt`',
  retentionMs: 'Retention of a queue',
  receiveWaitMs: 'Wait time of a receive (long polling)',
  messageBytesMax: 'Message size limit of a queue, body and attributes together',
  maxReceives: 'Receives before a message is dead-lettered',
  messagesPerCall: 'Messages in one call',
  pageSize: 'Rows in one page of a listing',
  movesPerSecond: 'Rate of a redrive or another move task',
  cooldownMs:
    'Cool-down that a caller can request between two purges, or between deleting and creating a queue',
  queueNameLength: 'Queue name, including `.fifo`; characters `A-Z a-z 0-9 _ -`',
  groupLength: 'Message group',
  deduplicationIdLength: 'Deduplication id of a message',
  receiveAttemptIdLength: 'Receive attempt id',
  attributesPerMessage: 'Attributes of a message',
  attributeNameLength: 'Attribute name',
  tagsPerQueue: 'Tags of a queue',
  tagKeyLength: 'Tag key',
  tagValueLength: 'Tag value',
  redriveSources: 'Source queues that a dead-letter queue can name',
  jobTypeLength: 'Job type',
  jobAttempts: 'Attempts of a job',
  ownerLength: 'Owner of a job',
  idempotencyKeyLength: 'Idempotency key of a job',
  jobExpiryMs: '`expiresAfter` of a job',
  idempotencyMs: 'Lifetime of an idempotency key',
  windowKeyLength: 'Key of a throttle or a debounce',
  windowMs: 'Window of a throttle or a debounce, and `maxWait` of a debounce',
  jobLabelLength: `Labels of a job: ${jobLabelNames.map((name) => `\`${name}\``).join(', ')} (each)`,
  tagsPerJob: 'Tags of a job',
  errorLength: 'Error summary of a failed attempt',
  reasonLength: 'Reason of a dead letter',
  failureLength: 'Error of a failed attempt with stack and causes, as JSON',
  logLines: 'Log lines of an attempt that one call of the port stores',
  logLength: 'These lines, as JSON',
  backoffMs: 'Backoff between two attempts',
  handlerTimeoutMs: 'Timeout of a handler',
  finishedJobMs: "How long a finished job is kept, unless `'forever'`",
  concurrency: 'Concurrency ceiling of a queue, a type, a tenant or a worker',
  rateMax: 'Rate ceiling: starts per interval',
  ratePerMs: 'Rate ceiling: length of the interval',
  limitKeys: 'Keys of a queue that have limits',
  limitKeyLength: 'Key of a limit: a path in the message',
  limitValueLength: 'Value of a key that has a limit, as text',
  stackNameLength: 'Stack name',
  stackDocumentLength: 'Record of a stack in the store',
  scheduleNameLength: 'Name of a schedule that is set at run time',
  storedScheduleNameLength: 'Schedule name in the store',
  scheduleTargetLength: 'Queue and job type of a schedule that is set at run time',
  scheduleRuleLength: 'Schedule rule in the store',
  scheduleCronLength: 'Cron expression of a schedule',
  scheduleEveryMs: 'Interval of a schedule',
  scheduleUntilMs: 'Time until the end of a schedule',
  scheduleDefinitionLength: 'Target and payload of a schedule that is set at run time, as JSON',
  janitorMs: 'Time after which the janitor reports something as stuck',
  flowNameLength: 'Flow name in the store',
  flowIdLength: 'Id of a flow or a unit',
  flowDataLength: 'Data stored with a flow, such as the start payload of a chain',
  flowDeadlineMs: 'Deadline of a flow or a chain',
  flowKeepMs: 'How long a flow is kept after its end',
  chainSteps: 'Steps of a chain',
  metricNameLength: 'Name of a custom metric',
  metricNames: 'Custom metrics in one store',
  collectorNameLength: 'Collector name in the store',
  collectorKeyLength: 'Key of a collector',
  itemIdLength: 'Item id in a collector',
  itemLength: 'Item of a collector, as JSON',
  maxWaitMs: '`maxWait` of a collector',
  batchItems: 'Items in one batch of a collector',
  batchBytes: 'JSON of one batch of a collector',
  rememberMs: 'How long a collector remembers the ids of merged items',
  overdueMs: 'Time after which a trigger of a collector counts as lost',
  batchSize: 'Items in one batch of a worker',
  batchWindowMs: 'Window of a batch of a worker',
  pollWeight: 'Weight of a queue in a worker',
  switchNameLength: 'Name of a kill switch or a budget',
  switchByLength: '`by` of a kill switch: who turned it on or off',
  switchNoteLength: 'Note on a kill switch',
  switchMs: 'Time after which a kill switch turns itself off',
  budgetMs: 'Period of a budget',
  budgetAmount: 'Limit of a budget, and amount spent in one call',
  budgetUnitLength: 'Unit of a budget',
  budgetsPerCall: 'Budgets of an app, and in one report',
  alarmNameLength: 'Alarm name',
  alarmOwnerLength: 'Name of the app or stack that owns an alarm',
  alarmDescriptionLength: 'Description of an alarm',
  alarmReasonLength: 'Reason for the state of an alarm',
  alarmPeriodMs: 'Period of an alarm, in whole minutes',
  alarmActions: 'Actions of an alarm',
  webhookLength: 'URL of a webhook',
  alarmPeriods: 'Periods that an alarm evaluates',
  inboxLeaseMs: 'Length of an inbox claim or its renewal',
  inboxByLength: 'Name of a person who claims messages',
  inboxNoteLength: 'Note on a message in an inbox',
  switchValueLength: 'Target of a kill switch: a queue, a job type, a tier, a tenant or a name',
}

const capabilityNames: Readonly<Record<Exclude<keyof Capabilities, 'name'>, string>> = {
  atomicSettle: 'An acknowledgement and the messages it emits are one transaction',
  fifo: 'FIFO queues',
  fencedReceipts: 'A receipt is refused after another receive of the message',
  lateReceipts: 'A receipt can be used after its lease, as in SQS',
  ordered: 'Standard queues give out the oldest message first',
  exactFigures: 'Levels, ages and counts of expired messages are exact at every moment',
  uncountedRelease: 'A receive that is released does not count',
  peek: 'Peek: read messages without receiving them',
  wakesAcrossProcesses: 'A send wakes a waiting receive in another process',
  receiveAttempts: 'A repeated receive with the same attempt id returns the same messages',
  durable: 'Acknowledged writes survive a power cut',
  trackedJobs: 'Tracked jobs',
  callerTransactions: "Jobs enqueued in the caller's own transaction",
  fairTenants: 'Fair standard queues: a backlog of one tenant does not delay other tenants',
  ceilings: 'Ceilings on concurrency and rate, across all receivers',
  killSwitches: 'Kill switches and budgets',
  flows: 'Fan-out and fan-in, and chains',
  collectors: 'Collectors: items of one key are merged into one message',
  schedules: 'Schedules: each tick fires once, across all processes',
  metrics: 'Metrics for each minute, and alarms',
  inboxes: 'Inboxes: messages that people claim',
  stacks: 'A record of deployed stacks',
  concurrentCalls: 'Calls run side by side: a worker claims while its handlers run',
  backups: 'Backups while the store is in use',
  delayMsMax: 'Longest delay of a message',
}

const pages: Readonly<Record<string, (current: string) => string>> = {
  'docs/errors.md': () =>
    page(
      'Errors',
      `When Millrace refuses a call, or a call fails, it rejects with a \`MillraceError\` that has one of
these codes. Codes are stable. \`error.violations\` lists each refused field, a description of the given
value, and what is allowed. No error contains a message body. "Retry" is \`error.retryable\`: the same
call may succeed later, unchanged.`,
      table(
        ['Code', 'Retry', 'Meaning'],
        Object.entries(errorCodes).map(([code, { message, retryable }]) => [
          `\`${code}\``,
          yesOrNo(retryable),
          message,
        ]),
      ),
    ),
  'docs/limits.md': () =>
    page(
      'Limits',
      `Sizes, lengths, durations and counts that Millrace accepts. They match SQS where SQS has a
limit, and are the same on every backend. A value outside its range is rejected with an error that names the
field and the range.`,
      table(
        ['Limit', 'Minimum', 'Maximum'],
        [
          ...(Object.keys(limitNames) as (keyof typeof limits)[]).map((key) => [
            limitNames[key],
            ...bounds(limits[key]),
          ]),
          ['Messages in flight in one queue', '', count(inFlightMax)],
          ['Length of a lease, including all extensions', '', describeDuration(leaseMsMax)],
          [
            'Lifetime of a deduplication id or a receive attempt id',
            '',
            describeDuration(deduplicationWindowMs),
          ],
        ],
      ),
    ),
  'docs/capabilities.md': () =>
    page(
      'Capabilities',
      `What each backend can do. If an app needs a capability that its backend lacks, \`open\` rejects with the
reason; no guarantee is weakened silently. The contract suite skips tests by the same values.`,
      table(
        ['Capability', ...backends.map(({ name }) => name)],
        (Object.keys(capabilityNames) as (keyof typeof capabilityNames)[]).map((key) => [
          capabilityNames[key],
          ...backends.map((backend) => capability(backend[key])),
        ]),
      ),
    ),
  'ARCHITECTURE.md': (current) =>
    between(current, { begin: '<!-- imports:begin -->', end: '<!-- imports:end -->' }, imports()),
  'docs/jobs.md': (current) =>
    between(current, { begin: '<!-- states:begin -->', end: '<!-- states:end -->' }, jobStates()),
  'docs/templates.md': (current) =>
    between(
      current,
      { begin: '<!-- doctor:begin -->', end: '<!-- doctor:end -->' },
      table(
        ['Rule', 'Severity', 'Finds'],
        doctorRules.map(({ name, severity, finds }) => [`\`${name}\``, severity, finds]),
      ),
    ),
}

const check = process.argv.includes('--check')
const stale = Object.entries(pages).filter(([name, render]) => {
  const current = read(name)
  return render(current) !== current
})
for (const [name, render] of check ? [] : stale) writeFileSync(`${root}${name}`, render(read(name)))
for (const [name] of stale) console.log(`${check ? 'out of date' : 'written'}: ${name}`)
if (check && stale.length > 0) {
  console.error('Run: node scripts/generate-docs.ts')
  process.exitCode = 1
}

function read(name: string): string {
  try {
    return readFileSync(`${root}${name}`, 'utf8')
  } catch {
    return ''
  }
}

function page(title: string, introduction: string, body: string): string {
  const origin = '<!-- Made by scripts/generate-docs.ts; edit the code it reads, not this page. -->'
  return `${origin}\n\n# ${title}\n\n${introduction}\n\n${body}`
}

function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const lines = [head, head.map(() => '---'), ...rows].map((cells) => `| ${cells.join(' | ')} |`)
  return `${lines.join('\n')}\n`
}

function bounds({ min, max, unit }: Range): readonly string[] {
  const write = unit === 'ms' ? describeDuration : count
  return unit === 'ms' ? [write(min), write(max)] : [write(min), `${write(max)} ${unit}`]
}

function count(value: number): string {
  return value.toLocaleString('en-US')
}

function capability(value: boolean | number): string {
  return typeof value === 'boolean' ? yesOrNo(value) : describeDuration(value)
}

function yesOrNo(value: boolean): string {
  return value ? 'yes' : 'no'
}

/**
 * The import diagram. It leaves out `core`, which all parts may import, and arrows that follow from others: a
 * part may import most of what its imports may.
 */
function imports(): string {
  const shown = importRules.filter(({ part }) => part !== 'core' && !part.endsWith('.ts'))
  const partsOf = new Map(shown.map(({ part, parts }) => [part, parts]))
  const reaches = (from: string, to: string): boolean =>
    (partsOf.get(from) ?? []).some((next) => next === to || reaches(next, to))
  const edges = shown.flatMap(({ part, parts, lazily = [], types = [] }) => {
    const direct = parts.filter((name) => partsOf.has(name))
    const solid = direct.filter((name) => !direct.some((other) => reaches(other, name)))
    const dotted = [...new Set([...lazily, ...types])].filter(
      (name) => partsOf.has(name) && !reaches(part, name),
    )
    return [
      ...solid.map((name) => `${node(part)} --> ${node(name)}`),
      ...dotted.map((name) => `${node(part)} -.-> ${node(name)}`),
    ]
  })
  const names = shown.map(({ part }) => `${node(part)}["${part}"]`)
  const lines = [...names, ...edges].map((line) => `  ${line}`)
  return ['```mermaid', 'flowchart TB', ...lines, '```\n'].join('\n')
}

function node(part: string): string {
  return part.replaceAll(/\W/g, '_')
}

function jobStates(): string {
  const edges = jobStatuses.flatMap((from) => jobTransitions[from].map((to) => `${from} --> ${to}`))
  const ends = jobStatuses.filter(isFinished).map((status) => `${status} --> [*]`)
  const lines = ['[*] --> pending', ...edges, ...ends].map((line) => `  ${line}`)
  return ['```mermaid', 'stateDiagram-v2', ...lines, '```\n'].join('\n')
}

/** Replaces the text between the markers. A text without markers stays as it is. */
function between(
  text: string,
  { begin, end }: { readonly begin: string; readonly end: string },
  body: string,
): string {
  const [start, stop] = [text.indexOf(begin), text.indexOf(end)]
  if (start < 0 || stop < start) return text
  return `${text.slice(0, start)}${begin}\n\n${body}\n${text.slice(stop)}`
}
