/** The agent that delivers notifications of a store, with the one setting that it has. */
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
  /** Webhooks may also be on this machine, and in networks of one's own. Default: the environment. */
  readonly allowPrivate?: boolean | undefined
  readonly onNotice: (notice: Notice) => void
}

/** Undefined where the backend keeps no notifications. */
export function openRelay({
  backend,
  ports,
  onNotice,
  allowPrivate = allowsPrivateWebhooks(process.env),
}: RelaySetup): Relay | undefined {
  if (backend.alarms === null) return undefined
  return new Relay({
    alarms: backend.alarms,
    backend,
    webhook: lazyWebhook(allowPrivate),
    timers: ports.timers,
    onUndelivered: (failure) => onNotice({ kind: 'notification_failed', ...failure }),
    onFailure: serviceFailure('relay', { onNotice }),
  })
}

/** Node's HTTP client takes 15 MB, so a process that never posts does not load it. */
function lazyWebhook(allowPrivate: boolean): Webhook {
  let webhook: Webhook | undefined
  return async (call) => {
    const { createWebhook } = await import('../maintenance/webhook.ts')
    webhook ??= createWebhook({ allowPrivate, userAgent: `millrace/${version}` })
    await webhook(call)
  }
}

const variable = 'MILLRACE_PRIVATE_WEBHOOKS'

/** A value that is neither is refused: guessing would open what was to stay closed, or the reverse. */
export function allowsPrivateWebhooks(
  environment: Readonly<Record<string, string | undefined>>,
): boolean {
  const value = (environment[variable] ?? '').trim().toLowerCase()
  if (value === 'allow') return true
  if (value === '' || value === 'refuse') return false
  const allowed = 'allow, or refuse'
  throw MillraceError.invalid([{ field: variable, given: describeGiven(value), allowed }])
}
