/** Checks of arguments about findings. */
import { checkLength, checkOneOf, checkRange } from '../core/checks.ts'
import { limits } from '../core/limits.ts'
import { type Checks, checkPage } from './checking.ts'
import type { FindingKind, FindingStore } from './finding-store.ts'

const kinds: readonly FindingKind[] = [
  'stuck_pending',
  'stuck_processing',
  'overdue_flow',
  'stuck_collector_key',
]

export const findingChecks: Checks<FindingStore> = {
  note: (into, request) => {
    checkOneOf(into, 'kind', request.kind, kinds)
    checkLength(into, 'scope', request.scope, { ...limits.scheduleNameLength, min: 0 })
    checkRange(into, 'found: count', request.found.length, { ...limits.pageSize, min: 0 })
    const confirming = { ...limits.janitorMs, min: 0 }
    checkRange(into, 'confirmAfterMs', request.confirmAfterMs, confirming)
  },
  list: checkPage,
}
