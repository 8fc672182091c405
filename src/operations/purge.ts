/** Empties a queue: waiting, leased and delayed messages go, and remembered deduplication ids. */
import type { Backend } from '../backends/backend.ts'

export interface QueuePurger {
  purge(): Promise<void>
}

export function purgerOf(backend: Pick<Backend, 'purgeQueue'>, queue: string): QueuePurger {
  return { purge: () => backend.purgeQueue({ queue }) }
}
