/** The settings of a queue as options of a command: `--visibility 5m --dlq orders-dlq`. */
import { type Command, Option } from 'commander'
import { formatDuration } from '../../core/durations.ts'
import { limits } from '../../core/limits.ts'
import { defaultQueueSettings, type QueueSettings } from '../../core/queue-settings.ts'
import { CommandFailure } from './command-failure.ts'
import { exitCodes } from './exit-codes.ts'
import { durationIn, oneOf, wholeNumberIn } from './option-values.ts'

export interface QueueSettingFlags {
  readonly visibility?: number
  readonly retention?: number
  readonly delay?: number
  readonly wait?: number
  readonly maxBytes?: number
  readonly dlq?: string | false
  readonly maxReceives?: number
  readonly contentDeduplication?: boolean
  readonly deduplicationScope?: QueueSettings['deduplicationScope']
}

export type QueueChanges = Partial<Omit<QueueSettings, 'type'>>

/** @param isNew whether the queue is created, so that an omitted setting has its default */
export function addSettingOptions(
  command: Command,
  { isNew }: { readonly isNew: boolean },
): Command {
  const scopes = ['queue', 'group'] as const
  const { visibilityMs, retentionMs, delayMs, receiveWaitMs, messageBytesMax } =
    defaultQueueSettings
  const lasting = (text: string, ms: number): string =>
    isNew ? `${text} (default: ${ms === 0 ? 'none' : formatDuration(ms)})` : text
  return command
    .optionsGroup('Settings:')
    .option(
      '--visibility <duration>',
      lasting('how long a received message is hidden, such as 5m', visibilityMs),
      durationIn(limits.visibilityMs),
    )
    .option(
      '--retention <duration>',
      lasting('how long messages are kept', retentionMs),
      durationIn(limits.retentionMs),
    )
    .option(
      '--delay <duration>',
      lasting('how long a new message waits before it can be received', delayMs),
      durationIn(limits.delayMs),
    )
    .option(
      '--wait <duration>',
      lasting('how long a receive waits for messages', receiveWaitMs),
      durationIn(limits.receiveWaitMs),
    )
    .option(
      '--max-bytes <number>',
      `maximum size of a message in bytes${isNew ? ` (default: ${messageBytesMax})` : ''}`,
      wholeNumberIn(limits.messageBytesMax),
    )
    .option('--dlq <queue>', 'dead-letter queue, for messages received too often')
    .option(
      '--max-receives <number>',
      'receives before a message is dead-lettered, with --dlq (default: 3)',
      wholeNumberIn(limits.maxReceives),
    )
    .option('--content-deduplication', 'FIFO: use the hash of the body as deduplication id')
    .addOption(
      new Option(
        '--deduplication-scope <scope>',
        `FIFO: deduplicate within the ${scopes.join(' or the ')}`,
      ).argParser(oneOf(scopes)),
    )
    .optionsGroup('Options:')
}

const defaultMaxReceives = 3

/** @param before the present settings, if the queue exists */
export function settingsOf(flags: QueueSettingFlags, before?: QueueSettings): QueueChanges {
  const { visibility, retention, delay, wait, maxBytes } = flags
  const { contentDeduplication, deduplicationScope } = flags
  const deadLetter = deadLetterOf(flags, before?.deadLetter ?? null)
  return {
    ...(visibility !== undefined && { visibilityMs: visibility }),
    ...(retention !== undefined && { retentionMs: retention }),
    ...(delay !== undefined && { delayMs: delay }),
    ...(wait !== undefined && { receiveWaitMs: wait }),
    ...(maxBytes !== undefined && { messageBytesMax: maxBytes }),
    ...(contentDeduplication !== undefined && { deduplicateByContent: contentDeduplication }),
    ...(deduplicationScope !== undefined && { deduplicationScope }),
    ...(deadLetter !== undefined && { deadLetter }),
  }
}

function deadLetterOf(
  { dlq, maxReceives }: QueueSettingFlags,
  before: QueueSettings['deadLetter'],
): QueueSettings['deadLetter'] | undefined {
  if (dlq === false && maxReceives === undefined) return null
  if (dlq === undefined && maxReceives === undefined) return undefined
  const queue = dlq === undefined ? before?.queue : dlq
  if (queue === undefined || queue === false) {
    throw new CommandFailure(
      exitCodes.usage,
      '--max-receives needs a dead-letter queue. Add --dlq.',
    )
  }
  return { queue, maxReceives: maxReceives ?? before?.maxReceives ?? defaultMaxReceives }
}
