/** Random apps, within what SQS can say: whole seconds, and names that are free. */
import fc from 'fast-check'
import { durationMs } from '../../src/core/durations.ts'
import { limits, type Range } from '../../src/core/limits.ts'
import {
  type Alarm,
  type App,
  alarm,
  type DeclaredQueue,
  type Duration,
  defineApp,
  fifo,
  queue,
} from '../../src/index.ts'

function seconds({ min, max }: Range): fc.Arbitrary<Duration> {
  return fc
    .integer({ min: Math.ceil(min / 1_000), max: Math.floor(max / 1_000) })
    .map((amount) => ({ seconds: amount }))
}

const text = fc.oneof(
  fc.string({ maxLength: 30 }),
  fc.constantFrom(
    'yes',
    '007',
    '1e3',
    'null',
    '~',
    '2026-01-01',
    '${self:x}',
    '!Ref a',
    ': #',
    '- a\nb',
  ),
)

const common = {
  visibilityTimeout: seconds(limits.visibilityMs),
  delay: seconds(limits.delayMs),
  retention: seconds(limits.retentionMs),
  receiveWait: seconds(limits.receiveWaitMs),
  maxMessageBytes: fc.integer(limits.messageBytesMax),
  deadLetter: fc.record(
    { after: fc.integer(limits.maxReceives), retention: seconds(limits.retentionMs) },
    { requiredKeys: [] },
  ),
  tags: fc.dictionary(
    text.filter((key) => key !== '' && key !== '__proto__'),
    text,
    { maxKeys: 4, noNullPrototype: true },
  ),
  concurrency: fc.integer({ min: 1, max: 10 }),
}

/** A queue whose delay is as long as its retention is refused. */
function isReceivable({ delay = '0s', retention = '4d' }: Waits): boolean {
  return durationMs(delay) < durationMs(retention)
}

interface Waits {
  readonly delay?: Duration
  readonly retention?: Duration
}

const declaredQueue: fc.Arbitrary<DeclaredQueue> = fc.oneof(
  fc
    .record(common, { requiredKeys: [] })
    .filter(isReceivable)
    .map((options) => queue(options)),
  fc
    .record(
      {
        ...common,
        deduplication: fc.constantFrom('content' as const, 'explicit' as const),
        deduplicationScope: fc.constantFrom('queue' as const, 'group' as const),
      },
      { requiredKeys: [] },
    )
    .filter(isReceivable)
    .map((options) => fifo(options)),
)

const key = fc.stringMatching(/^[a-z][a-zA-Z0-9]{0,9}$/)

const declaredQueues: fc.Arbitrary<Readonly<Record<string, DeclaredQueue>>> = fc
  .record({
    own: fc.uniqueArray(fc.tuple(key, declaredQueue), {
      maxLength: 5,
      // Names on the backend are made of keys without regard to their case.
      selector: ([name]) => name.toLowerCase(),
    }),
    sharing: fc.integer({ min: 0, max: 2 }),
  })
  .map(({ own, sharing }) => {
    const sharers = Array.from({ length: sharing }, (_, index) => [
      `sharer_${index}`,
      queue({ deadLetter: { queue: 'all_failed', after: index + 1 } }),
    ])
    const shared = sharing === 0 ? [] : [['all_failed', queue({ name: 'failed-of-all' })]]
    return Object.fromEntries([...own, ...sharers, ...shared])
  })

const alarmOptions = fc.record(
  {
    name: text.filter((name) => name !== '' && !name.includes('\0')),
    description: text.filter((words) => !words.includes('\0')),
    severity: fc.constantFrom('warning' as const, 'critical'),
    statistic: fc.constantFrom('maximum' as const, 'minimum', 'average', 'sum', 'sample_count'),
    period: fc.integer({ min: 1, max: 60 }).map((minutes): Duration => `${minutes}m`),
    evaluationPeriods: fc.integer({ min: 1, max: 10 }),
    datapointsToAlarm: fc.constant(1),
    missingData: fc.constantFrom('missing' as const, 'ignore', 'breaching', 'not_breaching'),
  },
  { requiredKeys: [] },
)

const alarmed = [
  alarm.dead,
  alarm.depth,
  alarm.inFlight,
  alarm.delayed,
  alarm.oldestAge,
  alarm.sent,
  alarm.received,
  alarm.deleted,
  alarm.emptyReceives,
  alarm.errorRate,
]

function alarmsOn(keys: readonly string[]): fc.Arbitrary<readonly Alarm[]> {
  const alarm = fc
    .record({
      make: fc.constantFrom(...alarmed),
      on: fc.constantFrom('*', ...keys),
      threshold: fc.oneof(fc.integer(), fc.double({ noNaN: true, noDefaultInfinity: true })),
      comparison: fc.constantFrom('above' as const, 'atOrAbove', 'below', 'atOrBelow'),
      options: alarmOptions,
    })
    .map(({ make, on, threshold, comparison, options }) => make(on)[comparison](threshold, options))
  return fc.uniqueArray(alarm, {
    maxLength: 4,
    comparator: (one, other) => one.name !== undefined && one.name === other.name,
  })
}

export const randomApp: fc.Arbitrary<App> = fc
  .record({ name: fc.stringMatching(/^[a-z][a-z0-9-]{0,10}[a-z]$/), queues: declaredQueues })
  .chain(({ name, queues }) =>
    alarmsOn(Object.keys(queues)).map((alarms) => defineApp(name, { queues, alarms })),
  )
