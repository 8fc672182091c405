/** Seals all content of a store with its newest key, while the store is in use. */
import type { Backend } from '../backends/backend.ts'
import { supported } from '../core/supported.ts'

export interface RekeyOptions {
  /** Called after each slice. */
  readonly onProgress?: (report: RekeyProgress) => void
  /** Stops between two slices. What was sealed stays sealed. */
  readonly signal?: AbortSignal
}

export interface RekeyProgress {
  /** Texts that were looked at, and those that were sealed. */
  readonly seen: number
  readonly sealed: number
}

export interface RekeyReport extends RekeyProgress {
  /** The key that seals everything now. */
  readonly key: string
  /**
   * Keys that seal nothing any more. Payloads that were sent before are still recognised by them, so keep them
   * until the idempotency keys of that time have ended.
   */
  readonly removed: readonly string[]
}

/** Texts that one transaction looks at. */
const sliceTexts = 200

/** Throws `unsupported` if the store was opened without a key. */
export async function rekey(
  { keys }: Pick<Backend, 'keys'>,
  { onProgress, signal }: RekeyOptions = {},
): Promise<RekeyReport> {
  const store = supported(keys)
  const key = supported(store.sealing)
  const total = { seen: 0, sealed: 0 }
  // A job that is retried, or work that is sent, moves a text to where the walk has been: so it is repeated.
  let sealedInWalk: number
  do {
    sealedInWalk = 0
    let after: string | undefined
    do {
      signal?.throwIfAborted()
      const slice = await store.rewrite({ limit: sliceTexts, ...(after && { after }) })
      sealedInWalk += slice.rewritten
      total.seen += slice.seen
      total.sealed += slice.rewritten
      onProgress?.({ ...total })
      after = slice.next
    } while (after !== undefined)
  } while (sealedInWalk > 0)
  const removed: string[] = []
  for (const { id } of await store.list()) {
    if (id !== key && (await store.remove({ id }))) removed.push(id)
  }
  return { ...total, key, removed }
}
