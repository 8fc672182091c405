/**
 * Who may use the SQS wire, in one place. With access keys: whoever signs, from anywhere. Without
 * them: programs on this machine, as long as nobody else can reach the server; and nobody at all
 * when others can.
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
  /** Region and account of requests that name none. */
  readonly home: QueuePlace
  readonly clock: Pick<Clock, 'now'>
}

/** All throw an `SqsError` when the request is turned away. */
export interface AccessControl {
  /** Before the body is read, so that strangers cannot make the server hold what they send. */
  greet(head: RequestHead): void
  /** Whether the caller may run an action in this way. */
  refuseAction?(head: RequestHead, action: string): void
  /** Who asks, once the whole request is there. */
  admit(request: SignedRequest): Signer
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
    const allowed = 'at least one key, or no such setting to trust every program on this machine'
    throw MillraceError.invalid([{ field: 'accessKeys', given: 'no keys', allowed }])
  }
  const verify = signatureVerifier(accessKeyLookup(keys, home.account))
  return {
    greet(head) {
      // An older signature is in the form, where it is told from none.
      if (!isShortForm(head)) claimsOf(head)
    },
    admit: (request) => verify(request, clock.now()),
  }
}

/** Whether the body is a form that is small enough to be read for anybody. */
function isShortForm({ rawHeaders }: RequestHead): boolean {
  const bytes = Number(headerValue(rawHeaders, 'content-length') ?? Number.NaN)
  return bytes <= shortFormBytesMax && isForm(headerValue(rawHeaders, 'content-type') ?? '')
}

const shortFormBytesMax = 16_384

/** Believes what a request says of its key and its region. */
function onThisMachine(home: QueuePlace): AccessControl {
  return {
    greet: refuseForeign,
    refuseAction: refuseBrowserWrite,
    admit(request) {
      const { accessKeyId = 'anonymous', region = home.region } = scopeOf(request) ?? {}
      // A habit of emulators: a key of twelve digits is an account.
      const account = /^\d{12}$/.test(accessKeyId) ? accessKeyId : home.account
      return { accessKeyId, account, region }
    },
  }
}

const closed: AccessControl = {
  greet: refuseClosed,
  admit: refuseClosed,
}

function refuseClosed(): never {
  throw new SqsError(
    'AccessDeniedException',
    'This server can be reached by other machines and has no access keys, so its SQS endpoint is ' +
      'closed. Start it with MILLRACE_ACCESS_KEYS to open it.',
  )
}
