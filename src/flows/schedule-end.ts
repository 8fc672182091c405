/** Checks the end of a schedule against the time of the store. */
import { limits } from '../core/limits.ts'
import type { Violation } from '../core/millrace-error.ts'

/** @param mayBeOver a declared schedule stays declared after its end */
export function checkEnd(
  until: Date | undefined,
  { now, mayBeOver }: { readonly now: number; readonly mayBeOver: boolean },
): readonly Violation[] {
  if (until === undefined) return []
  const inMs = until.getTime() - now
  if ((inMs > 0 || mayBeOver) && inMs <= limits.scheduleUntilMs.max) return []
  const allowed = mayBeOver ? 'a time within ten years' : 'a time in the next ten years'
  return [{ field: 'until', given: until.toISOString(), allowed }]
}
