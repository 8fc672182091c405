/** Checks of arguments about kill switches. */
import { checkOneOf, checkRange, checkText, type Violations } from '../core/checks.ts'
import { limits } from '../core/limits.ts'
import { type Checks, checkPage } from './checking.ts'
import type { SwitchStore, SwitchTarget } from './switch-store.ts'

export const switchChecks: Checks<SwitchStore> = {
  set: (into, request) => {
    checkTarget(into, request)
    checkOneOf(into, 'mode', request.mode, ['hold', 'divert'])
    checkSignature(into, request)
    if (request.forMs !== undefined) {
      checkRange(into, 'forMs', request.forMs, limits.switchMs)
    }
  },
  lift: (into, request) => {
    checkTarget(into, request)
    checkSignature(into, request)
  },
  list: null,
  history: checkPage,
}

function checkTarget(into: Violations, { scope, value }: SwitchTarget): void {
  checkOneOf(into, 'scope', scope, ['queue', 'type', 'tier', 'tenant', 'name'])
  checkText(into, 'value', value, limits.switchValueLength)
}

export function checkSignature(
  into: Violations,
  { by, note }: { readonly by: string; readonly note?: string },
): void {
  checkText(into, 'by', by, limits.switchByLength)
  if (note !== undefined) checkText(into, 'note', note, limits.switchNoteLength)
}
