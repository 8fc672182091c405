/**
 * Converts between the SQS attributes of a queue and its settings. Attributes without a setting are kept in
 * the annotations of the queue.
 */
import type { QueueRecord, QueueStatistics } from '../backends/backend.ts'
import { limits, type Range } from '../core/limits.ts'
import type { QueueSettings } from '../core/queue-settings.ts'
import { checkAccessPolicy } from './access-policy.ts'
import { AttributeRefusal, invalidAttribute, unknownAttribute } from './attribute-refusal.ts'
import { addressOf, formatArn, type QueueAddress, type QueuePlace } from './queue-address.ts'
import {
  formatRedriveAllowPolicy,
  formatRedrivePolicy,
  parseRedriveAllowPolicy,
  parseRedrivePolicy,
} from './redrive-policies.ts'

export type QueueAttributes = Readonly<Record<string, string>>

export interface AttributeScene {
  readonly queue: QueueAddress
  readonly home: QueuePlace
  readonly type: QueueSettings['type']
  /** The present settings; undefined for a new queue. */
  readonly current?: QueueSettings
}

type Changes = { -readonly [Name in keyof QueueSettings]?: QueueSettings[Name] }

/** The changes, collected attribute by attribute. */
interface Parsed {
  readonly changes: Changes
  readonly annotations: Record<string, string>
  readonly scene: AttributeScene
}

type Reader = (parsed: Parsed, value: string, name: string) => void

/** Converts attributes to settings. An empty string resets an attribute that can be reset. */
export function settingsFromAttributes(
  attributes: QueueAttributes,
  scene: AttributeScene,
): Partial<QueueSettings> {
  const parsed: Parsed = {
    changes: {},
    annotations: { ...scene.current?.annotations },
    scene,
  }
  const entries = Object.entries(attributes)
  for (const [name] of entries) refuseName(name, scene.type)
  refuseTwoEncryptions(attributes, parsed.annotations)
  for (const [name, value] of entries) readers.get(name)?.(parsed, value, name)
  if (entries.some(([name]) => annotated.has(name))) parsed.changes.annotations = parsed.annotations
  refuseThroughput(parsed)
  return parsed.changes
}

function whole(setting: RangedSetting, range: Range, unit: number): Reader {
  return ({ changes }, value, name) => {
    changes[setting] = numberFrom(name, value, range, unit)
  }
}

type RangedSetting =
  | 'visibilityMs'
  | 'delayMs'
  | 'retentionMs'
  | 'receiveWaitMs'
  | 'messageBytesMax'

/** Parses a number and converts it from the unit of SQS to ours. */
function numberFrom(name: string, text: string, { min, max }: Range, unit: number): number {
  const number = /^\d{1,9}$/.test(text) ? Number(text) * unit : Number.NaN
  if (number >= min && number <= max) return number
  throw invalidAttribute(name)
}

function booleanFrom(name: string, text: string): boolean {
  const lower = text.toLowerCase()
  if (lower === 'true' || lower === 'false') return lower === 'true'
  throw invalidAttribute(name)
}

/** Keeps a value as an annotation; an empty string removes it. */
function note(name: string, check: (value: string) => void): Reader {
  return ({ annotations }, value) => {
    if (value === '') {
      delete annotations[name]
      return
    }
    check(value)
    annotations[name] = value
  }
}

const encryptionKey = 'KmsMasterKeyId'
const keyReuse = 'KmsDataKeyReusePeriodSeconds'
const ownEncryption = 'SqsManagedSseEnabled'
const throughput = 'FifoThroughputLimit'
const allowPolicy = 'RedriveAllowPolicy'
const accessPolicy = 'Policy'

const keyReuseSeconds: Range = { min: 60, max: 86_400, unit: 'seconds' }
const keyReuseDefault = '300'

const readers: ReadonlyMap<string, Reader> = new Map<string, Reader>([
  ['VisibilityTimeout', whole('visibilityMs', limits.visibilityMs, 1_000)],
  ['DelaySeconds', whole('delayMs', limits.delayMs, 1_000)],
  ['MessageRetentionPeriod', whole('retentionMs', limits.retentionMs, 1_000)],
  ['ReceiveMessageWaitTimeSeconds', whole('receiveWaitMs', limits.receiveWaitMs, 1_000)],
  ['MaximumMessageSize', whole('messageBytesMax', limits.messageBytesMax, 1)],
  [
    'RedrivePolicy',
    ({ changes, scene }, value) => {
      changes.deadLetter = value === '' ? null : parseRedrivePolicy(value, scene)
    },
  ],
  [
    allowPolicy,
    ({ changes, annotations, scene }, value) => {
      changes.deadLetterSources = value === '' ? 'all' : parseRedriveAllowPolicy(value, scene.home)
      // `allowAll` is also the default. The annotation marks it as explicitly set, so that it is returned.
      if (value !== '' && changes.deadLetterSources === 'all') annotations[allowPolicy] = 'allowAll'
      else delete annotations[allowPolicy]
    },
  ],
  [
    'FifoQueue',
    ({ changes, scene }, value, name) => {
      if (!booleanFrom(name, value)) {
        throw invalidAttribute(name, 'Modifying queue type is not supported.')
      }
      // The type of an existing queue cannot change.
      if (scene.current === undefined) changes.type = 'fifo'
    },
  ],
  [
    'ContentBasedDeduplication',
    ({ changes }, value, name) => {
      changes.deduplicateByContent = booleanFrom(name, value)
    },
  ],
  [
    'DeduplicationScope',
    ({ changes }, value, name) => {
      if (value !== 'queue' && value !== 'messageGroup') throw invalidAttribute(name)
      changes.deduplicationScope = value === 'queue' ? 'queue' : 'group'
    },
  ],
  [
    throughput,
    ({ annotations }, value, name) => {
      if (value !== 'perQueue' && value !== 'perMessageGroupId') throw invalidAttribute(name)
      annotations[name] = value
    },
  ],
  [
    encryptionKey,
    (parsed, value, name) => {
      note(name, () => undefined)(parsed, value, name)
      // A KMS key turns off SQS-managed encryption, which is not turned on again automatically.
      if (value !== '') parsed.annotations[ownEncryption] = 'false'
    },
  ],
  [keyReuse, note(keyReuse, (value) => numberFrom(keyReuse, value, keyReuseSeconds, 1))],
  [
    ownEncryption,
    ({ annotations }, value, name) => {
      annotations[name] = String(booleanFrom(name, value))
    },
  ],
  [accessPolicy, note(accessPolicy, checkAccessPolicy)],
])

/** Attributes that change annotations. */
const annotated: ReadonlySet<string> = new Set([
  allowPolicy,
  throughput,
  encryptionKey,
  keyReuse,
  ownEncryption,
  accessPolicy,
])

const unknownOnStandard: readonly string[] = ['FifoQueue', 'ContentBasedDeduplication']
const forFifoOnly: readonly string[] = ['DeduplicationScope', throughput]

function refuseName(name: string, type: QueueSettings['type']): void {
  const isStandard = type === 'standard'
  if (isStandard && forFifoOnly.includes(name)) {
    const message = `You can specify the ${name} only when FifoQueue is set to true.`
    throw new AttributeRefusal('InvalidAttributeName', message)
  }
  if (!readers.has(name) || (isStandard && unknownOnStandard.includes(name))) {
    throw unknownAttribute(name)
  }
}

function refuseTwoEncryptions(given: QueueAttributes, kept: QueueAttributes): void {
  const wantsOwn = given[ownEncryption]?.toLowerCase() === 'true'
  const key = given[encryptionKey] ?? kept[encryptionKey] ?? ''
  if (!wantsOwn || key === '') return
  throw new AttributeRefusal(
    'InvalidAttributeName',
    'You can use one type of server-side encryption (SSE) at one time. You can either enable KMS SSE or SQS SSE.',
  )
}

function refuseThroughput({ changes, annotations, scene }: Parsed): void {
  const scope = changes.deduplicationScope ?? scene.current?.deduplicationScope ?? 'queue'
  if (annotations[throughput] !== 'perMessageGroupId' || scope === 'group') return
  throw invalidAttribute(
    throughput,
    'perMessageGroupId is allowed only when DeduplicationScope is messageGroup.',
  )
}

/** The attributes of a queue without its counts. */
export function attributesOfQueue(record: QueueRecord, home: QueuePlace): QueueAttributes {
  const { settings } = record
  const { annotations, deadLetter, deadLetterSources } = settings
  const policy = annotations[accessPolicy]
  const key = annotations[encryptionKey]
  const saysWhose = deadLetterSources !== 'all' || annotations[allowPolicy] !== undefined
  return {
    ...(policy !== undefined && { [accessPolicy]: policy }),
    VisibilityTimeout: seconds(settings.visibilityMs),
    MaximumMessageSize: String(settings.messageBytesMax),
    MessageRetentionPeriod: seconds(settings.retentionMs),
    CreatedTimestamp: seconds(record.createdAt),
    LastModifiedTimestamp: seconds(record.changedAt),
    QueueArn: formatArn(addressOf(record.name, home)),
    DelaySeconds: seconds(settings.delayMs),
    ReceiveMessageWaitTimeSeconds: seconds(settings.receiveWaitMs),
    ...(deadLetter !== null && { RedrivePolicy: formatRedrivePolicy(deadLetter, home) }),
    ...(saysWhose && { [allowPolicy]: formatRedriveAllowPolicy(deadLetterSources, home) }),
    ...(settings.type === 'fifo' && fifoAttributes(settings)),
    ...(key !== undefined && {
      [encryptionKey]: key,
      [keyReuse]: annotations[keyReuse] ?? keyReuseDefault,
    }),
    [ownEncryption]: annotations[ownEncryption] ?? 'true',
  }
}

function fifoAttributes(settings: QueueSettings): QueueAttributes {
  return {
    ...fifoSettings(settings),
    [throughput]: settings.annotations[throughput] ?? 'perQueue',
  }
}

function fifoSettings(settings: QueueSettings): QueueAttributes {
  return {
    FifoQueue: 'true',
    ContentBasedDeduplication: String(settings.deduplicateByContent),
    DeduplicationScope: settings.deduplicationScope === 'queue' ? 'queue' : 'messageGroup',
  }
}

/** The attributes with which a queue of an app is created at SQS, without its dead letters. */
export function settableAttributes(settings: QueueSettings): QueueAttributes {
  return {
    VisibilityTimeout: seconds(settings.visibilityMs),
    DelaySeconds: seconds(settings.delayMs),
    MessageRetentionPeriod: seconds(settings.retentionMs),
    ReceiveMessageWaitTimeSeconds: seconds(settings.receiveWaitMs),
    ...(settings.type === 'fifo' && fifoSettings(settings)),
  }
}

type QueueLevels = Pick<QueueStatistics, 'ready' | 'leased' | 'delayed'>

const counted: ReadonlyMap<string, (levels: QueueLevels) => number> = new Map([
  ['ApproximateNumberOfMessages', ({ ready }: QueueLevels) => ready],
  ['ApproximateNumberOfMessagesNotVisible', ({ leased }: QueueLevels) => leased],
  ['ApproximateNumberOfMessagesDelayed', ({ delayed }: QueueLevels) => delayed],
])

export function countAttributes(levels: QueueLevels): QueueAttributes {
  return Object.fromEntries([...counted].map(([name, count]) => [name, String(count(levels))]))
}

/** Read-only attributes. */
const shownOnly: readonly string[] = [
  ...counted.keys(),
  'CreatedTimestamp',
  'LastModifiedTimestamp',
  'QueueArn',
]

/** Whether the attribute can be read. */
export function isQueueAttribute(name: string): boolean {
  return readers.has(name) || shownOnly.includes(name)
}

function seconds(ms: number): string {
  return String(Math.floor(ms / 1_000))
}
