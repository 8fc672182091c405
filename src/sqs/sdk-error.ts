/** The code and text of an error of the AWS SDK. */
import { isError } from '../core/is-error.ts'

export interface SdkReason {
  /** Of SQS or of the network, such as `ThrottlingException` or `ECONNREFUSED`; `Unknown` without one. */
  readonly code: string
  readonly reason: string
}

export function sdkReasonOf(error: unknown): SdkReason {
  if (!isError(error)) return { code: unknown, reason: String(error) }
  const { name, message } = error
  // Errors of SQS are named after their code. Those of the network have a code, and often no text.
  const code = '$fault' in error || !('code' in error) ? name : String(error.code)
  const [first] = 'errors' in error && Array.isArray(error.errors) ? error.errors : []
  const text = message || (isError(first) ? first.message : '')
  return { code: code === 'Error' ? unknown : code, reason: text || noReason }
}

const unknown = 'Unknown'
const noReason = 'SQS gave no reason.'
