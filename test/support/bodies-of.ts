import type { Backend } from '../../src/backends/backend.ts'

/** The bodies of all messages of a queue, whatever their state. */
export async function bodiesOf(backend: Backend, queue: string): Promise<readonly string[]> {
  const found: string[] = []
  for (const state of ['ready', 'leased', 'delayed'] as const) {
    let after: string | undefined
    do {
      const page = await backend.peek({ queue, state, limit: 1_000, ...(after && { after }) })
      found.push(...page.items.map(({ body }) => body))
      after = page.next
    } while (after !== undefined)
  }
  return found
}
