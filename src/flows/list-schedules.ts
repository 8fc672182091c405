/** Lists the schedules of an app, page by page, in the order of their names. */
import type { Page } from '../backends/backend.ts'
import type { ScheduleStore } from '../backends/schedule-store.ts'
import { limits } from '../core/limits.ts'
import type { SchedulePlan } from './planned-schedules.ts'
import { type Schedule, scheduleOf } from './schedule-handle.ts'

interface PageRequest {
  readonly prefix: string
  readonly limit: number
  readonly after?: string
}

/** Declared schedules are few. The store keeps them under other names, so they are merged into the page here. */
export async function listSchedules(
  plan: SchedulePlan,
  store: ScheduleStore,
  { prefix, limit, after }: PageRequest,
): Promise<Page<Schedule>> {
  const { scope } = plan
  const page = await store.list({
    ...{ scope, limit, isDeclared: false, prefix: plan.storedName(prefix) },
    ...(after !== undefined && { after: plan.storedName(after) }),
  })
  const declared = await store.list({ scope, isDeclared: true, limit: limits.pageSize.max })
  const merged = [
    ...page.items.map((record) => scheduleOf(plan, record)),
    ...declared.items
      .map((record) => scheduleOf(plan, record))
      .filter(
        ({ name }) => name.startsWith(prefix) && (after === undefined || isAfter(name, after)),
      ),
  ].sort((one, other) => (isAfter(one.name, other.name) ? 1 : -1))
  const items = merged.slice(0, limit)
  const last = items.at(-1)
  const isMore = page.next !== undefined || merged.length > limit
  return isMore && last !== undefined ? { items, next: last.name } : { items }
}

/** In the order of the store, which compares bytes. */
function isAfter(name: string, other: string): boolean {
  return Buffer.compare(Buffer.from(name), Buffer.from(other)) > 0
}
