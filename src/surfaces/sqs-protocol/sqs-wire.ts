/**
 * The SQS endpoint, for any AWS SDK and both protocols of SQS. It shares the listener with the other
 * surfaces, so it also decides which requests it accepts.
 */
import type { IncomingMessage, RequestListener } from 'node:http'
import { describeGiven, type Violations } from '../../core/checks.ts'
import { MillraceError } from '../../core/millrace-error.ts'
import { type Logger, silentLogger } from '../../observability/logger.ts'
import { defaultHome, parseQueuePath, type QueuePlace } from '../../sqs/queue-address.ts'
import type { Services } from '../services.ts'
import { accessControl } from './access/access-control.ts'
import type { AccessKey } from './access/access-keys.ts'
import { actions } from './actions/index.ts'
import { isForm } from './content-types.ts'
import { emulatorHealth, isEmulatorHealth } from './emulator-health.ts'
import { Exchange, type ExchangeSetup } from './exchange.ts'
import { OpenWaits } from './open-waits.ts'
import { targetOf } from './request-target.ts'

export interface SqsWireOptions {
  /** The region of queues whose name in the store has no prefix. Default: us-east-1. */
  readonly region?: string
  /** The account of those queues, twelve digits. Default: 000000000000. */
  readonly account?: string
  /**
   * Whether a name is blocked for 60 seconds after its queue was deleted, and a queue after a purge, as on
   * AWS. Default: true.
   */
  readonly cooldowns?: boolean
  /** The keys that may sign requests. Without keys: every program on this machine has access. */
  readonly accessKeys?: readonly AccessKey[]
  /** Logs each failed request. Default: no log. */
  readonly log?: Logger
}

export type IsOwned = (path: string) => boolean

export interface SqsWire {
  /** Whether a request is for SQS. Another surface owns some paths. */
  accepts(request: IncomingMessage, isOwned: IsOwned): boolean
  readonly answer: RequestListener
}

const cooldownMs = 60_000

export function sqsWire(services: Services, options: SqsWireOptions = {}): SqsWire {
  const { cooldowns = true, accessKeys, log = silentLogger } = options
  const home = homeOf(options)
  const { store, ports, stopping } = services
  const setup: ExchangeSetup = {
    store,
    ports,
    settings: { home, cooldownMs: cooldowns ? cooldownMs : 0 },
    waits: new OpenWaits(stopping),
    isVerified: accessKeys !== undefined,
    access: accessControl({
      accessKeys,
      isPublic: services.isPublic,
      home,
      clock: ports.clock,
    }),
    log,
  }
  const health = emulatorHealth(services)
  return {
    accepts: (request, isOwned) => isEmulatorHealth(request) || accepts(request, isOwned),
    answer(request, response) {
      if (isEmulatorHealth(request)) health(request, response)
      else new Exchange(setup, request, response).begin()
    },
  }
}

function homeOf({ region, account }: SqsWireOptions): QueuePlace {
  const home = { region: region ?? defaultHome.region, account: account ?? defaultHome.account }
  const violations: Violations = []
  const check = (field: 'region' | 'account', pattern: RegExp, allowed: string): void => {
    if (pattern.test(home[field])) return
    violations.push({ field, given: describeGiven(home[field]), allowed })
  }
  check('region', /^[a-z0-9-]{1,40}$/, 'a region, such as eu-central-1')
  check('account', /^\d{12}$/, 'twelve digits')
  if (violations.length > 0) throw MillraceError.invalid(violations)
  return home
}

const jsonContent = 'application/x-amz-json'
const signed = 'AWS4-'

/** Accepts requests with headers of AWS clients, and other requests if no other surface owns the path. */
function accepts(
  { headers, method = 'GET', url = '/' }: IncomingMessage,
  isOwned: IsOwned,
): boolean {
  if (headers['x-amz-target'] !== undefined) return true
  if (headers.authorization?.startsWith(signed)) return true
  const contentType = headers['content-type'] ?? ''
  if (contentType.startsWith(jsonContent)) return true
  const { path, query } = targetOf(url)
  if (/(?:^|&)X-Amz-Algorithm=/.test(query)) return true
  const [, action = ''] = /(?:^|&)Action=(\w+)/.exec(query) ?? []
  if (parseQueuePath(path) !== undefined || actions.has(action)) return true
  // The action of a form is in the body, which has not arrived yet.
  if (method === 'POST' && isForm(contentType)) return !isOwned(path)
  if (path !== '/') return false
  const isRead = method === 'GET' || method === 'HEAD'
  return !isRead || isForm(contentType) || /(?:^|&)Action=/.test(query)
}
