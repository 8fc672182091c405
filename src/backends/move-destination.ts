/** Which queue may be named as the destination of a move task: another one, of the same type. */
import { MillraceError } from '../core/millrace-error.ts'
import type { QueueRecord } from './backend.ts'

type Place = Pick<QueueRecord, 'name' | 'settings'>

export function checkMoveDestination(source: Place, destination: Place): void {
  const { type } = source.settings
  if (destination.name !== source.name && destination.settings.type === type) return
  throw MillraceError.invalid([
    {
      field: 'destination',
      given: `'${destination.name}', a ${destination.settings.type} queue`,
      allowed: `another ${type} queue than the source`,
    },
  ])
}
