/**
 * The labels of a message, as one attribute of a message of SQS: JSON, so that it takes one of the ten
 * attributes. Other programs may write to the queue, so what is read is checked.
 */
import { isObject, parseJsonObject } from '../../../sqs/json-object.ts'
import type { OutgoingJob } from '../../carried-store.ts'
import type { DeadLetterOrigin } from '../../stored-message.ts'
import type { CarrierLabels } from '../carrier.ts'

/** The name of the attribute. */
export const labelsAttribute = 'Millrace'

export interface Labelled {
  readonly labels: CarrierLabels | null
  /** What is kept beside the message, without what SQS has a place for. */
  readonly systemAttributes: Readonly<Record<string, string>>
}

/** Undefined if there are no labels. */
export function formatLabels({ labels, systemAttributes }: Labelled): string | undefined {
  const isEmpty = Object.keys(systemAttributes).length === 0
  if (labels === null && isEmpty) return undefined
  const json = JSON.stringify({
    ...(labels !== null && { labels }),
    ...(!isEmpty && { system: systemAttributes }),
  })
  // The only characters in JSON that SQS refuses.
  return json.replaceAll(/[\uFFFE\uFFFF]/g, (one) => `\\u${one.charCodeAt(0).toString(16)}`)
}

/** Undefined if another program has written the attribute. */
export function parseLabels(text: string): Labelled | undefined {
  const { labels = null, system = {}, ...others } = parseJsonObject(text) ?? { other: true }
  if (Object.keys(others).length > 0 || !areTexts(system)) return undefined
  if (labels === null) return { labels, systemAttributes: system }
  return isLabels(labels) ? { labels, systemAttributes: system } : undefined
}

function isLabels(value: unknown): value is CarrierLabels {
  if (!isObject(value)) return false
  const { id, isTracked, job, details, deadLetterOrigin, systemAttributes } = value
  return (
    typeof id === 'string' &&
    typeof isTracked === 'boolean' &&
    (job === null || isJob(job)) &&
    (details === undefined || typeof details === 'string') &&
    (deadLetterOrigin === undefined || isOrigin(deadLetterOrigin)) &&
    (systemAttributes === undefined || areTexts(systemAttributes))
  )
}

function isJob(value: unknown): value is OutgoingJob {
  if (!isObject(value)) return false
  const { type, attemptsMade, maxAttempts } = value
  return typeof type === 'string' && [attemptsMade, maxAttempts].every(Number.isSafeInteger)
}

function isOrigin(value: unknown): value is DeadLetterOrigin {
  if (!isObject(value)) return false
  const { source, at, reason } = value
  const hasReason = reason === null || typeof reason === 'string'
  return typeof source === 'string' && Number.isSafeInteger(at) && hasReason
}

function areTexts(value: unknown): value is Readonly<Record<string, string>> {
  return isObject(value) && Object.values(value).every((one) => typeof one === 'string')
}
