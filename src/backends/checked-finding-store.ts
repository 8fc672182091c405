/** Checks every argument about findings, as checked-backend.ts does for messages. */
import { checkLength, checkOneOf, checkRange } from '../core/checks.ts'
import { limits } from '../core/limits.ts'
import { check } from './checking.ts'
import type { FindingKind, FindingStore } from './finding-store.ts'

const kinds: readonly FindingKind[] = [
  'stuck_pending',
  'stuck_processing',
  'overdue_flow',
  'stuck_collector_key',
]

export function checkedFindingStore(store: FindingStore): FindingStore {
  return {
    note: async (request) => {
      check((into) => {
        checkOneOf(into, 'kind', request.kind, kinds)
        checkLength(into, 'scope', request.scope, { ...limits.scheduleNameLength, min: 0 })
        checkRange(into, 'found: count', request.found.length, { ...limits.pageSize, min: 0 })
        const confirming = { ...limits.janitorMs, min: 0 }
        checkRange(into, 'confirmAfterMs', request.confirmAfterMs, confirming)
      })
      return store.note(request)
    },
    list: async (request) => {
      check((into) => checkRange(into, 'limit', request.limit, limits.pageSize))
      return store.list(request)
    },
  }
}
