/**
 * Decides who may use the SQS endpoint. With access keys: every client that signs its requests. Without
 * them: programs on this machine; but if other machines can reach the server, the endpoint is closed.
 */
import { MillraceError } from '../../../core/millrace-error.ts'
import type { Clock } from '../../../core/ports.ts'
import type { QueuePlace } from '../../../sqs/queue-address.ts'
import { isForm } from '../content-types.ts'
import { SqsError } from '../sqs-error.ts'
import { type AccessKey, accessKeyLookup } from './access-keys.ts'
import { refuseBrowserWrite } from './browser-writes.ts'
import { headerValue, type RequestHead } from './canonical-request.ts'
import { scopeOf } from './credential-scope.ts'
import { refuseForeign } from './local-guard.ts'
import { claimsOf } from './signature-claims.ts'
import { type SignedRequest, type Signer, signatureVerifier } from './verify-signature.ts'

export interface AccessOptions {
  readonly accessKeys: readonly AccessKey[] | undefined
  /** Whether other machines can reach the server. */
  readonly isPublic: boolean
  /** Default region and account of requests. */
  readonly home: QueuePlace
  readonly clock: Pick<Clock, 'now'>
}

/** All methods throw an `SqsError` to reject the request. */
export interface AccessControl {
  /** Runs before the body is read, so that unauthenticated clients cannot fill the memory. */
  checkHeaders(head: RequestHead): void
  /** Throws if the caller may not run the action in this way. */
  refuseAction?(head: RequestHead, action: string): void
  /** Authenticates the complete request. */
  authenticate(request: SignedRequest): Signer
}

export function accessControl(options: AccessOptions): AccessControl {
  const { accessKeys, isPublic, home } = options
  if (accessKeys !== undefined) return bySignature(accessKeys, options)
  return isPublic ? closed : onThisMachine(home)
}

function bySignature(
  keys: readonly AccessKey[],
  { home, clock }: Pick<AccessOptions, 'home' | 'clock'>,
): AccessControl {
  if (keys.length === 0) {
    const allowed =
      'at least one key. To trust every program on this machine, leave the setting out'
    throw MillraceError.invalid([{ field: 'accessKeys', given: 'no keys', allowed }])
  }
  const verify = signatureVerifier(accessKeyLookup(keys, home.account))
  return {
    checkHeaders(head) {
      // Older signature versions are in the form, so the missing header is reported later.
      if (!isShortForm(head)) claimsOf(head)
    },
    authenticate: (request) => verify(request, clock.now()),
  }
}

/** Whether the body is a form that is small enough to read before authentication. */
function isShortForm({ rawHeaders }: RequestHead): boolean {
  const bytes = Number(headerValue(rawHeaders, 'content-length') ?? Number.NaN)
  return bytes <= shortFormBytesMax && isForm(headerValue(rawHeaders, 'content-type') ?? '')
}

const shortFormBytesMax = 16_384

/** Trusts the key and region that a request names. */
function onThisMachine(home: QueuePlace): AccessControl {
  return {
    checkHeaders: refuseForeign,
    refuseAction: refuseBrowserWrite,
    authenticate(request) {
      const { accessKeyId = 'anonymous', region = home.region } = scopeOf(request) ?? {}
      // Like other emulators: a key of twelve digits is an account.
      const account = /^\d{12}$/.test(accessKeyId) ? accessKeyId : home.account
      return { accessKeyId, account, region }
    },
  }
}

const closed: AccessControl = {
  checkHeaders: refuseClosed,
  authenticate: refuseClosed,
}

function refuseClosed(): never {
  throw new SqsError(
    'AccessDeniedException',
    'The SQS endpoint is closed, because other machines can reach this server and it has no access keys. ' +
      'Start it with MILLRACE_ACCESS_KEYS to open the endpoint.',
  )
}
