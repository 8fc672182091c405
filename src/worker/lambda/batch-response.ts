/**
 * Reads the response of a function for its batch, by AWS's rules. Nothing or an empty list means success.
 * Unknown ids, or a response of another form, fail the whole batch, because its meaning is unclear.
 */
import { behindFailed } from '../behind-failed.ts'

export interface BatchMessage {
  readonly id: string
  readonly group: string | null
}

export interface BatchResponse {
  /** JSON, as the function returned it. */
  readonly response: string
  readonly batch: readonly BatchMessage[]
  readonly isFifo: boolean
}

export interface BatchVerdict {
  /** Ids of the messages that must be delivered again. */
  readonly failed: ReadonlySet<string>
  /** Why the response could not be used; null if it could. */
  readonly problem: string | null
}

/** The verdict for a function that reports failures of single messages. */
export function judgeBatch({ response, batch, isFifo }: BatchResponse): BatchVerdict {
  const read = readFailures(response, new Set(batch.map(({ id }) => id)))
  if ('problem' in read) return { failed: allOf(batch), problem: read.problem }
  return { failed: isFifo ? withFollowers(read.failed, batch) : read.failed, problem: null }
}

export function allOf(batch: readonly BatchMessage[]): ReadonlySet<string> {
  return new Set(batch.map(({ id }) => id))
}

type Read = { readonly failed: ReadonlySet<string> } | { readonly problem: string }

function readFailures(json: string, known: ReadonlySet<string>): Read {
  const response: unknown = JSON.parse(json)
  if (response === null) return { failed: new Set() }
  if (typeof response !== 'object' || Array.isArray(response)) {
    return { problem: 'The response is not an object with batchItemFailures.' }
  }
  const failures: unknown = 'batchItemFailures' in response ? response.batchItemFailures : null
  if (failures === null) return { failed: new Set() }
  if (!Array.isArray(failures)) return { problem: 'batchItemFailures is not an array.' }
  const ids = failures.map(identifierOf)
  const index = ids.findIndex((id) => id === undefined || !known.has(id))
  if (index < 0) return { failed: new Set(ids.filter((id) => id !== undefined)) }
  const what =
    ids[index] === undefined
      ? 'has no itemIdentifier that is a string'
      : 'names no message of the batch'
  return { problem: `batchItemFailures[${index}] ${what}.` }
}

function identifierOf(failure: unknown): string | undefined {
  if (typeof failure !== 'object' || failure === null) return undefined
  const id = 'itemIdentifier' in failure ? failure.itemIdentifier : undefined
  return typeof id === 'string' && id !== '' ? id : undefined
}

/** Messages behind a failed message of their group must wait until that one is done. */
function withFollowers(
  failed: ReadonlySet<string>,
  batch: readonly BatchMessage[],
): ReadonlySet<string> {
  const followers = behindFailed(batch, ({ id }) => failed.has(id))
  return new Set([...failed, ...[...followers].map(({ id }) => id)])
}
