/** Extends leases of one queue, ends them, and deletes messages. */
import { checkRange, type Violations } from '../../../core/checks.ts'
import { limits } from '../../../core/limits.ts'
import { MillraceError } from '../../../core/millrace-error.ts'
import { type BatchAnswer, callBatch, type EntryResult } from '../../../sqs/batch-call.ts'
import type { QueueScene } from './message-sender.ts'
import { SharedCalls } from './shared-calls.ts'
import { entryError, sqsCodeOf } from './sqs-error.ts'

/** Calls of one process, one queue and one action at the same time. */
const callsMax = 16

/** A lease from now on. Zero makes the message receivable at once. */
export interface VisibilityChange {
  readonly handle: string
  readonly visibilityMs: number
}

interface HandleEntry {
  readonly ReceiptHandle: string
}

interface VisibilityEntry extends HandleEntry {
  readonly VisibilityTimeout: number
}

type Result = boolean | MillraceError
type LeaseAction = 'ChangeMessageVisibilityBatch' | 'DeleteMessageBatch'
type Call<Entry> = (
  url: string,
  entries: (Entry & { readonly Id: string })[],
) => Promise<BatchAnswer<object>>

export class LeaseChanges {
  readonly #scene: QueueScene
  readonly #changes: SharedCalls<VisibilityEntry, Result>
  readonly #removals: SharedCalls<HandleEntry, Result>

  constructor(scene: QueueScene) {
    const { queue, connection } = scene
    this.#scene = scene
    this.#changes = this.#shared('ChangeMessageVisibilityBatch', (QueueUrl, Entries) =>
      connection.call('ChangeMessageVisibilityBatch', { QueueUrl, Entries }, { queue }),
    )
    this.#removals = this.#shared('DeleteMessageBatch', (QueueUrl, Entries) =>
      connection.call('DeleteMessageBatch', { QueueUrl, Entries }, { queue }),
    )
  }

  /** Whether each message was leased by its handle. */
  async change(changes: readonly VisibilityChange[]): Promise<readonly boolean[]> {
    const violations: Violations = []
    for (const { visibilityMs } of changes) {
      checkRange(violations, 'visibilityMs', visibilityMs, limits.visibilityMs)
    }
    if (violations.length > 0) throw MillraceError.invalid(violations)
    const entries = changes.map(({ handle, visibilityMs }) => ({
      ReceiptHandle: handle,
      VisibilityTimeout: Math.ceil(visibilityMs / 1_000),
    }))
    return booleans(await this.#changes.submit(entries))
  }

  async remove(handles: readonly string[]): Promise<readonly boolean[]> {
    return booleans(
      await this.#removals.submit(handles.map((ReceiptHandle) => ({ ReceiptHandle }))),
    )
  }

  #shared<Entry extends HandleEntry>(
    action: LeaseAction,
    call: Call<Entry>,
  ): SharedCalls<Entry, Result> {
    const { queue, urls, timers } = this.#scene
    const runBatch = (entries: readonly Entry[]): Promise<readonly EntryResult<object>[]> =>
      callBatch<Entry, object>({
        entries,
        keepsOrder: false,
        timers,
        call: (batch) => urls.use(queue, (url) => call(url, [...batch])),
      })
    return new SharedCalls<Entry, Result>({
      timers,
      callsMax,
      bytesOf: () => 0,
      run: async (entries) => {
        const results = await runBatch(entries)
        // Some servers refuse a whole call for one handle. The others must not fail with it.
        const isRefused = entries.length > 1 && results.every(isRefusedCall)
        const own = isRefused ? await eachAlone(entries, runBatch) : results
        return own.map((result) => resultOf(result, { action, queue }))
      },
    })
  }
}

async function eachAlone<Entry>(
  entries: readonly Entry[],
  run: (entries: readonly Entry[]) => Promise<readonly EntryResult<object>[]>,
): Promise<readonly EntryResult<object>[]> {
  const results: EntryResult<object>[] = []
  for (const entry of entries) results.push(...(await run([entry])))
  return results
}

function isRefusedCall(result: EntryResult<object>): boolean {
  return (
    'error' in result &&
    result.error instanceof MillraceError &&
    result.error.code === 'carrier_failed'
  )
}

/** The error codes of SQS for messages that are gone, and for leases that have ended. */
const lost =
  /(^|\.)(ReceiptHandleIsInvalid|InvalidParameterValue(Exception)?|MessageNotInflight|InvalidIdFormat)$/

function resultOf(
  result: EntryResult<object>,
  scene: { readonly action: LeaseAction; readonly queue: string },
): Result {
  if ('done' in result) return true
  if ('failed' in result) {
    return lost.test(result.failed.Code ?? '') ? false : entryError(result.failed, scene)
  }
  const error = result.error as MillraceError
  return isRefusedCall(result) && lost.test(sqsCodeOf(error)) ? false : error
}

/** A call that failed can be repeated as a whole: what it did has no other effect a second time. */
function booleans(results: readonly Result[]): readonly boolean[] {
  return results.map((result) => {
    if (typeof result === 'boolean') return result
    throw result
  })
}
