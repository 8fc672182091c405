/** Shared by all batch actions: at most ten entries, each with an id and its own result. */
import { missingParameter } from '../refusals.ts'
import {
  boolean,
  type ListShape,
  listOf,
  type StructureShape,
  structure,
  text,
  type ValueOf,
} from '../shapes.ts'
import { SqsError, sqsErrors } from '../sqs-error.ts'

const entriesMax = 10
const idPattern = /^[A-Za-z0-9_-]{1,80}$/

/** An entry with a valid id. */
export type Identified<Entry> = Entry & { readonly Id: string }

/**
 * Checks the batch as a whole, and returns its entries.
 * @param entryName the name of an entry in the Query protocol and in errors
 */
export function checkBatch<Entry extends { readonly Id?: string | undefined }>(
  entries: readonly Entry[] | undefined,
  entryName: string,
): readonly Identified<Entry>[] {
  if (entries === undefined || entries.length === 0) {
    const message = `There should be at least one ${entryName} in the request.`
    throw new SqsError('EmptyBatchRequest', message)
  }
  if (entries.length > entriesMax) {
    const message = `Maximum number of entries per request are ${entriesMax}. You have sent ${entries.length}.`
    throw new SqsError('TooManyEntriesInBatchRequest', message)
  }
  const ids = new Set<string>()
  for (const [index, { Id: id }] of entries.entries()) {
    checkEntryId(id, `${entryName}.${index + 1}.Id`)
    if (ids.has(id)) throw new SqsError('BatchEntryIdsNotDistinct', `Id ${id} repeated.`)
    ids.add(id)
  }
  // The loop above checked all ids.
  return entries as readonly Identified<Entry>[]
}

function checkEntryId(id: string | undefined, parameter: string): asserts id is string {
  if (id === undefined) throw missingParameter(parameter)
  if (idPattern.test(id)) return
  throw new SqsError(
    'InvalidBatchEntryId',
    'A batch entry id can only contain alphanumeric characters, hyphens and underscores. It can be at most 80 letters long.',
  )
}

type FailedEntryShape = StructureShape<{
  readonly Id: typeof text
  readonly SenderFault: typeof boolean
  readonly Code: typeof text
  readonly Message: typeof text
}>

export type FailedEntry = ValueOf<FailedEntryShape>

export const failedEntries: ListShape<FailedEntryShape> = listOf(
  'BatchResultErrorEntry',
  structure({ Id: text, SenderFault: boolean, Code: text, Message: text }),
)

export function failedEntry(id: string, { kind, message }: SqsError): FailedEntry {
  const { queryCode, status } = sqsErrors[kind]
  return { Id: id, SenderFault: status < 500, Code: queryCode, Message: message }
}

export interface BatchAnswer {
  readonly Successful: readonly { readonly Id: string }[]
  readonly Failed: readonly FailedEntry[]
}

export interface BatchSteps<Entry> {
  /** Checks one entry, and returns its error. */
  refuse(entry: Entry, index: number): SqsError | undefined
  /** Runs the valid entries, and resolves with an error or undefined for each, in order. */
  run(entries: readonly Entry[]): Promise<readonly (SqsError | undefined)[]>
}

/** Runs a batch whose response only lists successful and failed entries. */
export async function answerEach<Entry extends { readonly Id: string }>(
  entries: readonly Entry[],
  { refuse, run }: BatchSteps<Entry>,
): Promise<BatchAnswer> {
  const refusals = entries.map(refuse)
  const accepted = entries.filter((_, index) => refusals[index] === undefined)
  const results = (accepted.length === 0 ? [] : await run(accepted)).values()
  const successful: { readonly Id: string }[] = []
  const failed: FailedEntry[] = []
  for (const [index, { Id }] of entries.entries()) {
    const refusal = refusals[index] ?? results.next().value
    if (refusal === undefined) successful.push({ Id })
    else failed.push(failedEntry(Id, refusal))
  }
  return { Successful: successful, Failed: failed }
}
