/**
 * One call with several entries, as SQS batches them. Entries that failed on the side of SQS are tried again.
 * Each entry has a result of its own, whatever happened to the others.
 */
import { limits } from '../core/limits.ts'
import { pause } from '../core/pause.ts'
import type { Timers } from '../core/ports.ts'

export const entriesPerCall = 10

/** Of all entries of one call together. */
export const bytesPerCall: number = limits.messageBytesMax.max

export interface BatchAnswer<Done> {
  readonly Successful?: readonly (Done & { readonly Id?: string | undefined })[] | undefined
  readonly Failed?: readonly FailedEntry[] | undefined
}

export interface FailedEntry {
  readonly Id?: string | undefined
  readonly Code?: string | undefined
  readonly Message?: string | undefined
  /** Whether the same entry would fail again. */
  readonly SenderFault?: boolean | undefined
}

/** What became of an entry: done, refused by SQS, or part of a call that failed. */
export type EntryResult<Done> =
  | { readonly done: Done }
  | { readonly failed: FailedEntry }
  | { readonly error: unknown }

export interface BatchCall<Entry, Done> {
  /** At most as many as fit into one call. */
  readonly entries: readonly Entry[]
  /** Entries are named by their place in all that is sent. Default: 0. */
  readonly firstId?: number | undefined
  /** An entry that is tried again comes after those that did not fail, so its place is lost. */
  readonly keepsOrder: boolean
  readonly timers: Timers
  readonly call: (
    entries: readonly (Entry & { readonly Id: string })[],
  ) => Promise<BatchAnswer<Done>>
}

const triesMax = 3
const retryMs = 100

/** Never rejects: a call that fails is the result of its entries. */
export async function callBatch<Entry extends object, Done>({
  entries,
  firstId = 0,
  keepsOrder,
  timers,
  call,
}: BatchCall<Entry, Done>): Promise<readonly EntryResult<Done>[]> {
  const results = new Map<string, EntryResult<Done>>()
  let pending = entries.map((entry, index) => ({ ...entry, Id: String(firstId + index) }))
  for (let tries = 1; pending.length > 0; tries += 1) {
    try {
      const { Successful = [], Failed = [] } = await call(pending)
      for (const done of Successful) results.set(done.Id ?? '', { done })
      for (const failed of Failed) results.set(failed.Id ?? '', { failed })
      const again = new Set(Failed.filter(mayPassLater).map(({ Id }) => Id))
      pending = pending.filter(({ Id }) => again.has(Id))
    } catch (error) {
      for (const { Id } of pending) results.set(Id, { error })
      break
    }
    if (keepsOrder || tries === triesMax || pending.length === 0) break
    await pause(timers, retryMs * 2 ** (tries - 1))
  }
  return entries.map((_, index) => results.get(String(firstId + index)) ?? { failed: noResult })
}

const noResult: FailedEntry = { Code: 'NoResult', Message: 'SQS did not return a result for it.' }

function mayPassLater({ SenderFault = false }: FailedEntry): boolean {
  return !SenderFault
}

/** The indexes of entries, as many in a call as SQS takes. */
export function callsFor(sizes: readonly number[]): readonly (readonly number[])[] {
  const calls: number[][] = []
  let bytes = 0
  for (const [index, size] of sizes.entries()) {
    const last = calls.at(-1)
    bytes += size
    if (last !== undefined && last.length < entriesPerCall && bytes <= bytesPerCall) {
      last.push(index)
    } else {
      calls.push([index])
      bytes = size
    }
  }
  return calls
}
