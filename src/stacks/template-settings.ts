/** Which settings of a queue every template can say; the rest is none of a template's business. */
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

/** As they are on a new queue. */
export const templateDefaults: Partial<QueueSettings> = Object.fromEntries(
  templateSettings.map((key) => [key, defaultQueueSettings[key]]),
)

/** By what it says, not by the order in which it says it. */
export function isSameSetting(one: unknown, other: unknown): boolean {
  const text = (value: unknown): string => canonicalJson(JSON.stringify(value))
  return text(one) === text(other)
}
