/** Ids of ticks, by which the store recognises a repetition. */
import { hash } from 'node:crypto'
import { idPattern } from '../core/check-message.ts'
import { limits } from '../core/limits.ts'

/** Names that are too long for an id, or have other characters, are hashed. */
export function tickId(schedule: string, tick: string | number): string {
  const id = `${schedule}@${tick}`
  if (id.length <= limits.deduplicationIdLength.max && idPattern.test(id)) return id
  return `${hash('sha256', schedule)}@${tick}`
}
