/** Creates the service that delivers the notifications of a store. */
import type { Backend } from '../backends/backend.ts'
import { describeGiven } from '../core/checks.ts'
import { MillraceError } from '../core/millrace-error.ts'
import type { Ports } from '../core/ports.ts'
import { Relay } from '../maintenance/relay.ts'
import type { Webhook } from '../maintenance/webhook.ts'
import { version } from '../version.ts'
import { type Notice, serviceFailure } from './notice.ts'

export interface RelaySetup {
  readonly backend: Backend
  readonly ports: Pick<Ports, 'timers'>
  /** Allows webhooks on this machine and in private networks. Default: from the environment. */
  readonly allowPrivate?: boolean | undefined
  /** Posts to webhooks. Default: over the network. */
  readonly webhook?: Webhook
  readonly onNotice: (notice: Notice) => void
}

/** Returns undefined if the backend has no notifications. */
export function openRelay({
  backend,
  ports,
  onNotice,
  allowPrivate = allowsPrivateWebhooks(process.env),
  webhook = lazyWebhook(allowPrivate),
}: RelaySetup): Relay | undefined {
  if (backend.alarms === null) return undefined
  return new Relay({
    alarms: backend.alarms,
    backend,
    webhook,
    timers: ports.timers,
    onUndelivered: (failure) => onNotice({ kind: 'notification_failed', ...failure }),
    onFailure: serviceFailure('relay', { onNotice }),
  })
}

/** Loaded on first use, because Node's HTTP client takes 15 MB. */
function lazyWebhook(allowPrivate: boolean): Webhook {
  let webhook: Webhook | undefined
  return async (call) => {
    const { createWebhook } = await import('../maintenance/webhook.ts')
    webhook ??= createWebhook({ allowPrivate, userAgent: `millrace/${version}` })
    await webhook(call)
  }
}

const variable = 'MILLRACE_PRIVATE_WEBHOOKS'

/** Throws if the value is neither `allow` nor `refuse`, because a wrong guess would be unsafe. */
export function allowsPrivateWebhooks(
  environment: Readonly<Record<string, string | undefined>>,
): boolean {
  const value = (environment[variable] ?? '').trim().toLowerCase()
  if (value === 'allow') return true
  if (value === '' || value === 'refuse') return false
  const allowed = 'allow, or refuse'
  throw MillraceError.invalid([{ field: variable, given: describeGiven(value), allowed }])
}
