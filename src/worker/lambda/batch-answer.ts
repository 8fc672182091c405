/**
 * What the answer of a function says about its batch, by AWS's rules: nothing or an empty list is
 * success; ids that were not in the batch, or an answer of another form, fail the batch as a whole,
 * because it cannot be known what was meant.
 */
export interface BatchMessage {
  readonly id: string
  readonly group: string | null
}

export interface BatchQuestion {
  /** JSON, as the function answered it. */
  readonly answer: string
  readonly batch: readonly BatchMessage[]
  readonly isFifo: boolean
}

export interface BatchVerdict {
  /** Ids of the messages that must come again. */
  readonly failed: ReadonlySet<string>
  /** What is wrong with an answer that could not be used; null when it could. */
  readonly problem: string | null
}

/** The verdict when the function reports failures of single messages. */
export function judgeBatch({ answer, batch, isFifo }: BatchQuestion): BatchVerdict {
  const read = readFailures(answer, new Set(batch.map(({ id }) => id)))
  if ('problem' in read) return { failed: allOf(batch), problem: read.problem }
  return { failed: isFifo ? withFollowers(read.failed, batch) : read.failed, problem: null }
}

export function allOf(batch: readonly BatchMessage[]): ReadonlySet<string> {
  return new Set(batch.map(({ id }) => id))
}

type Read = { readonly failed: ReadonlySet<string> } | { readonly problem: string }

function readFailures(json: string, known: ReadonlySet<string>): Read {
  const answer: unknown = JSON.parse(json)
  if (answer === null) return { failed: new Set() }
  if (typeof answer !== 'object' || Array.isArray(answer)) {
    return { problem: 'The answer is not an object with batchItemFailures.' }
  }
  const failures: unknown = 'batchItemFailures' in answer ? answer.batchItemFailures : null
  if (failures === null) return { failed: new Set() }
  if (!Array.isArray(failures)) return { problem: 'batchItemFailures is not a list.' }
  const ids = failures.map(identifierOf)
  const index = ids.findIndex((id) => id === undefined || !known.has(id))
  if (index < 0) return { failed: new Set(ids.filter((id) => id !== undefined)) }
  const what =
    ids[index] === undefined
      ? 'has no itemIdentifier that is a text'
      : 'names no message of the batch'
  return { problem: `batchItemFailures[${index}] ${what}.` }
}

function identifierOf(failure: unknown): string | undefined {
  if (typeof failure !== 'object' || failure === null) return undefined
  const id = 'itemIdentifier' in failure ? failure.itemIdentifier : undefined
  return typeof id === 'string' && id !== '' ? id : undefined
}

/** What stands behind a failed message of its group must wait until that one has been done. */
function withFollowers(
  failed: ReadonlySet<string>,
  batch: readonly BatchMessage[],
): ReadonlySet<string> {
  const stopped = new Set<string | null>()
  const all = new Set<string>()
  for (const { id, group } of batch) {
    if (failed.has(id)) stopped.add(group)
    if (stopped.has(group)) all.add(id)
  }
  return all
}
