/** What the errors of Redis and of its driver mean, in one line that quotes neither a message nor a password. */
import type { ErrorCode } from '../../../core/error-codes.ts'
import { MillraceError } from '../../../core/millrace-error.ts'

type Reason = readonly [code: ErrorCode, reason: string]

/** By the first word of a reply. */
const replies: Readonly<Record<string, Reason>> = {
  OOM: [
    'carrier_failed',
    'its memory is full. Raise maxmemory, or remove jobs. Received messages can still be settled.',
  ],
  READONLY: ['carrier_unusable', 'it is a read-only replica. Name its primary.'],
  NOAUTH: ['carrier_unusable', 'it asks for a password.'],
  WRONGPASS: ['carrier_unusable', 'it refused the user or the password.'],
  MISCONF: ['carrier_failed', 'it cannot write to its disk.'],
  NOREPLICAS: ['carrier_failed', 'it has fewer replicas than it needs to write.'],
  WRONGTYPE: ['carrier_unusable', 'a key of the queue holds something else than BullMQ stores.'],
  LOADING: ['carrier_unreachable', 'it is starting.'],
  MASTERDOWN: ['carrier_unreachable', 'it is a replica that has lost its primary.'],
  BUSY: ['carrier_unreachable', 'it is busy with a script.'],
  UNBLOCKED: ['carrier_unreachable', 'it has changed its role.'],
}

/** By the code of Node. */
const faults: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'no server listens there.',
  ENOTFOUND: 'the host is not known.',
  EAI_AGAIN: 'the host is not known, or the name server does not reply.',
}

/** @param place without secrets */
export function redisError(error: unknown, place: string): MillraceError {
  if (error instanceof MillraceError) return error
  // Not as a cause: the driver adds the command, with bodies and passwords, to its errors.
  const [code, reason] = isReply(error) ? replyReason(error.message) : connectionReason(error)
  return new MillraceError(code, { message: `BullMQ cannot use Redis at ${place}: ${reason}` })
}

/** A refusal that Redis has sent, in contrast to a connection that was lost. */
export function isReply(error: unknown): error is Error {
  return error instanceof Error && error.name === 'ReplyError'
}

function replyReason(message: string): Reason {
  const [word = ''] = message.split(' ')
  const known = replies[word]
  if (known !== undefined) return known
  // A script passes on what Redis refused in it.
  const inside = /\b(OOM|READONLY|WRONGTYPE|MISCONF|NOREPLICAS)\b/.exec(message)?.[1]
  if (inside !== undefined) return replies[inside] ?? ['carrier_failed', 'it refused the call.']
  if (/invalid (?:username-)?password/i.test(message)) {
    return ['carrier_unusable', 'it refused the user or the password.']
  }
  if (word === 'NOPERM' || /ACL failure|user executing the script/.test(message)) {
    return ['carrier_unusable', `the user lacks a right: ${missingRight(message)}.`]
  }
  return ['carrier_failed', `it refused the call (${/^[A-Z]{2,20}$/.test(word) ? word : 'ERR'}).`]
}

function missingRight(message: string): string {
  const command = /'([a-z|]{1,40})'/i.exec(message)?.[1]
  if (command !== undefined) return `the command ${command.toUpperCase()} (ACL +${command})`
  if (/\bkey/.test(message)) return 'the keys of the queue (ACL ~prefix:*)'
  return 'a command that the scripts of BullMQ use (ACL +@all, or +@read +@write +@scripting)'
}

function connectionReason(error: unknown): Reason {
  const { code = '' } = Object(error) as { readonly code?: unknown }
  if (typeof code === 'string' && /CERT|SIGNATURE|^ERR_TLS|^ERR_SSL/.test(code)) {
    return ['carrier_unusable', `its certificate is not trusted (${code}).`]
  }
  return ['carrier_unreachable', faults[String(code)] ?? 'the connection was lost.']
}
