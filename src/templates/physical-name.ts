/**
 * Generates names for resources without one, as CloudFormation does: from the stack, the logical id, and a
 * few characters that are the same in every run.
 */
import { createHash } from 'node:crypto'

export interface NameParts {
  readonly stackName: string
  readonly logicalId: string
  readonly lengthMax: number
  /** A required ending, such as `.fifo`. */
  readonly suffix?: string
}

const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567'
const uniqueLength = 12

export function physicalName({ stackName, logicalId, lengthMax, suffix = '' }: NameParts): string {
  const unique = uniquePart(`${stackName}/${logicalId}`)
  const room = lengthMax - suffix.length - unique.length - 2
  // Shortens the stack name first, to at most half of the length, because the logical id says more.
  const stack = stackName.slice(0, Math.max(room - logicalId.length, Math.floor(room / 2)))
  return `${stack}-${logicalId.slice(0, room - stack.length)}-${unique}${suffix}`
}

function uniquePart(text: string): string {
  const digest = createHash('sha256').update(text).digest()
  return Array.from(digest.subarray(0, uniqueLength), (byte) => alphabet[byte % 32]).join('')
}
