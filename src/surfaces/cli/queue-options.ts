/** The settings of a queue as options of a command: `--visibility 5m --dlq orders-dlq`. */
import { type Command, Option } from 'commander'
import { limits } from '../../core/limits.ts'
import type { QueueSettings } from '../../core/queue-settings.ts'
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

export function addSettingOptions(command: Command): Command {
  const scopes = ['queue', 'group'] as const
  return command
    .optionsGroup('Settings:')
    .option(
      '--visibility <duration>',
      'how long a received message is hidden',
      durationIn(limits.visibilityMs),
    )
    .option('--retention <duration>', 'how long messages are kept', durationIn(limits.retentionMs))
    .option('--delay <duration>', 'how long messages are delayed', durationIn(limits.delayMs))
    .option(
      '--wait <duration>',
      'how long a receive waits for messages',
      durationIn(limits.receiveWaitMs),
    )
    .option(
      '--max-bytes <number>',
      'maximum size of a message in bytes',
      wholeNumberIn(limits.messageBytesMax),
    )
    .option('--dlq <queue>', 'dead-letter queue, for messages received too often')
    .option(
      '--max-receives <number>',
      'receives before a message is dead-lettered (default: 3)',
      wholeNumberIn(limits.maxReceives),
    )
    .option('--content-deduplication', 'FIFO: use the hash of the body as deduplication id')
    .addOption(
      new Option(
        '--deduplication-scope <scope>',
        `FIFO: deduplicate per ${scopes.join(' or ')}`,
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
