/** Which keys a process can open texts with. It must not work on a store that has texts of other keys. */
import { MillraceError } from '../../core/millrace-error.ts'
import { type Query, query } from '../statements.ts'

export const keyIds: Query<{ id: string }> = query<{ id: string }>(
  'SELECT id FROM encryption_key ORDER BY id',
)

/** Throws `encryption_key_missing` if the store has texts of a key that is not among these. */
export function refuseMissingKeys(
  stored: readonly { readonly id: string }[],
  known: readonly string[],
): void {
  const missing = stored.filter(({ id }) => !known.includes(id))
  if (missing.length === 0) return
  const names = missing.map(({ id }) => `'${id}'`).join(', ')
  throw new MillraceError('encryption_key_missing', {
    message:
      `The store is sealed with ${missing.length === 1 ? 'the key' : 'the keys'} ${names}. ` +
      'Pass it in `encryptionKeys`, or in MILLRACE_ENCRYPTION_KEYS.',
  })
}
