/** Reads the JSON of a body. Throws `invalid_message` without quoting it. */
import { MillraceError } from '../core/millrace-error.ts'

export function parseJson(body: string): unknown {
  try {
    return JSON.parse(body)
  } catch {
    const violation = { field: 'message', given: 'a body that is not JSON', allowed: 'JSON' }
    throw MillraceError.invalid([violation], 'invalid_message')
  }
}
