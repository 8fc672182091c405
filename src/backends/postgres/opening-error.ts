/** Why a database could not be opened, in one line without secrets. */
import type { ErrorCode } from '../../core/error-codes.ts'
import { MillraceError } from '../../core/millrace-error.ts'
import { storageError } from './driver/faults.ts'
import { encodedUrl } from './place.ts'

interface DriverError extends Error {
  readonly code?: string
  readonly syscall?: string
  /** Of errors that the server has sent. */
  readonly severity?: string
}

type Reason = readonly [code: ErrorCode, reason: string]

const hint = 'If the server requires TLS, add ?sslmode=verify-full to the URL.'

/** By the code of Node or of Postgres. */
const reasons: Readonly<Record<string, Reason>> = {
  ENOTFOUND: ['store_unreachable', 'the host is not known.'],
  EAI_AGAIN: ['store_unreachable', 'the host is not known, or the name server does not answer.'],
  ECONNREFUSED: ['store_unreachable', 'no server listens there.'],
  ENOENT: ['store_unreachable', 'no server listens at this socket.'],
  EACCES: ['store_unusable', 'this user may not use the socket.'],
  '28P01': ['store_unusable', 'the server refused the role or its password.'],
  '3D000': ['store_unusable', 'the server has no database of this name.'],
  '53300': ['store_unreachable', 'the server accepts no more connections.'],
  '57P03': ['store_unreachable', 'the server is starting or stopping.'],
}

/** @param place without secrets */
export function openingError(given: unknown, place: string): Error {
  if (given instanceof MillraceError || !(given instanceof Error)) return storageError(given)
  const [code, reason] = reasonOf(given) ?? []
  if (code === undefined) return storageError(given)
  return new MillraceError(code, { message: `Cannot open ${place}: ${reason}`, cause: given })
}

function reasonOf({
  name,
  code = '',
  syscall,
  severity,
  message,
}: DriverError): Reason | undefined {
  if (code === 'ERR_INVALID_URL' || name === 'URIError') {
    return ['store_unusable', `the URL of the pool cannot be read, expected ${encodedUrl}`]
  }
  if (syscall === 'open') {
    return [
      'store_unusable',
      `the file of sslrootcert, sslcert or sslkey cannot be read (${code}).`,
    ]
  }
  if (/CERT|SIGNATURE|^ERR_TLS|^ERR_SSL/.test(code)) {
    const advice = 'Name the certificate of its authority: ?sslmode=verify-full&sslrootcert=FILE'
    return ['store_unusable', `the certificate of the server is not trusted (${code}). ${advice}`]
  }
  if (/does not support SSL/.test(message)) {
    return [
      'store_unusable',
      'the server has no TLS. Remove sslmode from the URL to do without it.',
    ]
  }
  if (/password must be a (?:non-empty )?string/.test(message)) {
    return [
      'store_unusable',
      'the server asks for a password. Add it to the URL, or set PGPASSWORD.',
    ]
  }
  const known = reasons[code]
  if (known !== undefined) return known
  if (/^E[A-Z]+$/.test(code) || /^Connection terminated|timeout/.test(message)) {
    return ['store_unreachable', 'the server does not answer.']
  }
  // What a server says before a session begins names roles and databases, and nothing that is stored.
  if (severity === 'FATAL') {
    return ['store_unusable', `the server refused the connection: ${message}. ${hint}`]
  }
  return undefined
}
