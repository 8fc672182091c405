/**
 * Access keys from the variable MILLRACE_ACCESS_KEYS (`id:secret` or `id:secret:account`, comma separated). A
 * variable, because other users can see a command line.
 */
import { MillraceError } from '../../../core/millrace-error.ts'
import type { AccessKey } from './access-keys.ts'

/** Returns undefined if the variable is unset or empty. */
export function credentialsFromEnvironment(
  environment: Readonly<Record<string, string | undefined>>,
): readonly AccessKey[] | undefined {
  const entries = (environment['MILLRACE_ACCESS_KEYS'] ?? '')
    .split(',')
    .map((entry) => entry.trim())
    .filter((entry) => entry !== '')
  return entries.length === 0 ? undefined : entries.map(accessKeyFrom)
}

function accessKeyFrom(entry: string, index: number): AccessKey {
  const [accessKeyId = '', secretAccessKey = '', account, ...more] = entry.split(':')
  if (accessKeyId === '' || secretAccessKey === '' || account === '' || more.length > 0) {
    const field = `MILLRACE_ACCESS_KEYS, entry ${index + 1}`
    const allowed = 'id:secret or id:secret:account'
    throw MillraceError.invalid([{ field, given: 'an invalid value', allowed }])
  }
  return { accessKeyId, secretAccessKey, ...(account !== undefined && { account }) }
}
