/** A store that a test can make unusable for all processes. */
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { onTestFinished } from 'vitest'
import { startCutProxy } from '../../../test/services/cut-proxy.ts'
import { storeVariables } from '../../shared/test/store.ts'

export interface BreakableStore {
  readonly variables: Readonly<Record<string, string>>
  /** Locks the file, or cuts off the server. The store can be used again after a call of the returned function. */
  break(): () => Promise<void>
}

/** The codes of errors while it is broken. */
export const brokenStore: RegExp = /^store_(?:busy|unreachable)$/

export async function breakableStore(folder: string): Promise<BreakableStore> {
  const { MILLRACE_STORE: url } = await storeVariables()
  if (url === undefined) return { variables: {}, break: () => lock(join(folder, 'millrace.db')) }
  const proxy = await startCutProxy(Number(new URL(url).port))
  onTestFinished(() => proxy.close())
  return {
    variables: { MILLRACE_STORE: proxy.url(url) },
    break() {
      proxy.refuse()
      proxy.cut()
      return () => proxy.accept()
    },
  }
}

function lock(file: string): () => Promise<void> {
  const other = new DatabaseSync(file)
  other.exec('BEGIN IMMEDIATE')
  return async () => other.close()
}
