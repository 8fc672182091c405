import type { Backend } from '../../src/backends/backend.ts'

/**
 * The bodies of all messages of a queue, whatever their state. Delays and leases may end while this reads, so it
 * reads ready messages last, and counts a message that it meets in two states once.
 */
export async function bodiesOf(backend: Backend, queue: string): Promise<readonly string[]> {
  const found = new Map<string, string>()
  for (const state of ['delayed', 'leased', 'ready'] as const) {
    let after: string | undefined
    do {
      const page = await backend.peek({ queue, state, limit: 1_000, ...(after && { after }) })
      for (const { id, body } of page.items) found.set(id, body)
      after = page.next
    } while (after !== undefined)
  }
  return [...found.values()]
}
