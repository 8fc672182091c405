import type { Page } from '../backends/backend.ts'
import { limits } from '../core/limits.ts'

export interface PageRequest {
  readonly limit: number
  readonly after?: string
}

/** Reads all pages of a list. */
export async function everyPage<T>(
  read: (page: PageRequest) => Promise<Page<T>>,
): Promise<readonly T[]> {
  const items: T[] = []
  let after: string | undefined
  do {
    const page = await read({
      limit: limits.pageSize.max,
      ...(after !== undefined && { after }),
    })
    items.push(...page.items)
    after = page.next
  } while (after !== undefined)
  return items
}
