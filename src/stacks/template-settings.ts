/** The settings of a queue that templates can declare. */
import { canonicalJson } from '../core/canonical-json.ts'
import { defaultQueueSettings, type QueueSettings } from '../core/queue-settings.ts'

export const templateSettings = [
  'visibilityMs',
  'delayMs',
  'retentionMs',
  'receiveWaitMs',
  'messageBytesMax',
  'deadLetter',
  'deadLetterSources',
  'deduplicateByContent',
  'deduplicationScope',
] as const

/** Their values on a new queue. */
export const templateDefaults: Partial<QueueSettings> = Object.fromEntries(
  templateSettings.map((key) => [key, defaultQueueSettings[key]]),
)

/** Compares settings without regard to the order of keys. */
export function isSameSetting(one: unknown, other: unknown): boolean {
  const text = (value: unknown): string => canonicalJson(JSON.stringify(value))
  return text(one) === text(other)
}
