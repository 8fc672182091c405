/** Notices of an open app: events that are not the result of a call. */
import type { ClockChange } from '../core/clock-change.ts'
import { counted } from '../core/counted.ts'
import { formatDuration } from '../core/durations.ts'
import { errorSummary } from '../core/error-summary.ts'
import { minuteMs } from '../core/minutes.ts'
import type { AlarmChange } from '../maintenance/alarms/alarm-change.ts'
import type { TickFailure } from '../maintenance/due-tick.ts'
import { describeFinding, type JanitorFinding } from '../maintenance/janitor-rules.ts'
import type { UndeliveredNotification } from '../maintenance/relay.ts'
import type { ServiceFailure } from '../maintenance/service.ts'
import type { SweepFailure } from '../maintenance/sweeper.ts'
import { type LogFields, type Logger, silentLogger } from '../observability/logger.ts'
import type { RefusedDelivery } from '../receiving/check-deliveries.ts'

export type Notice =
  | ({ readonly kind: 'delivery_refused' } & RefusedDelivery)
  | ({ readonly kind: 'sweep_failed' } & SweepFailure)
  | ({ readonly kind: 'tick_failed' } & TickFailure)
  | ({ readonly kind: 'janitor' } & JanitorFinding)
  | ({ readonly kind: 'alarm' } & AlarmChange)
  | ({ readonly kind: 'clock' } & ClockChange)
  | { readonly kind: 'carrier'; readonly text: string; readonly error?: unknown }
  | ({ readonly kind: 'notification_failed' } & UndeliveredNotification)
  | {
      readonly kind: 'worker_not_started'
      /** The keys of the queues that the worker would poll. */
      readonly queues: readonly string[]
    }
  | {
      readonly kind: 'service_failed'
      /** The name of the service: `janitor`, `scheduler`. */
      readonly service: string
      readonly error: unknown
      readonly retryInMs: number | null
    }

/** The default listener: writes to the log, or emits process warnings. */
export function noticesTo(log: Logger = silentLogger): (notice: Notice) => void {
  return log === silentLogger ? warnOf : logOf(log)
}

/** Reports failures of a service. */
export function serviceFailure(
  service: string,
  { onNotice }: { readonly onNotice: (notice: Notice) => void },
): (failure: ServiceFailure) => void {
  return ({ error, retryInMs }) => onNotice({ kind: 'service_failed', service, error, retryInMs })
}

export interface Listeners {
  readonly log?: Logger | undefined
  readonly onNotice?: ((notice: Notice) => void) | undefined
}

/** Alarms are always logged, even with a listener. */
export function alarmListener({ log, onNotice }: Listeners): (change: AlarmChange) => void {
  const listeners = [log && logOf(log), onNotice].filter((one) => one !== undefined)
  const called = listeners.length === 0 ? [warnOf] : listeners
  return (change) => {
    for (const listener of called) listener({ kind: 'alarm', ...change })
  }
}

/** Without a listener, a notice becomes a process warning, so that it is not lost. */
export function warnOf(notice: Notice): void {
  // Good news needs no warning.
  if (notice.kind === 'alarm' && notice.state !== 'ALARM') return
  if (notice.kind === 'clock' && notice.what === 'returned') return
  process.emitWarning(describe(notice), { type: 'MillraceWarning', code: notice.kind })
}

export function logOf(log: Logger): (notice: Notice) => void {
  return (notice) => {
    const { level, fields, message } = lineOf(notice)
    log[level]({ kind: notice.kind, ...fields }, message)
  }
}

const howToStart = 'call worker.start() or await worker.run()'

interface Line {
  readonly level: 'info' | 'warn' | 'error'
  readonly fields: LogFields
  readonly message: string
}

function lineOf(notice: Notice): Line {
  switch (notice.kind) {
    case 'sweep_failed':
      return { level: 'error', fields: failureFields(notice), message: 'sweep failed' }
    case 'service_failed': {
      const fields = { service: notice.service, ...failureFields(notice) }
      return { level: 'error', fields, message: 'service failed' }
    }
    case 'tick_failed': {
      const { schedule, tries } = notice
      const at = notice.at.toISOString()
      const fields = { schedule, at, tries, ...failureFields(notice) }
      return { level: levelOf(notice), fields, message: 'schedule tick failed' }
    }
    case 'notification_failed': {
      const { target, attempt } = notice
      const fields = { target, attempt, ...failureFields(notice) }
      return { level: levelOf(notice), fields, message: 'notification not delivered' }
    }
    case 'janitor': {
      const { what, place, id, type, since } = notice
      const fields = { what, place, id, type, since: since?.toISOString() ?? null }
      return { level: 'warn', fields, message: 'stuck work found' }
    }
    case 'alarm': {
      const { kind: _, ...fields } = notice
      return { level: alarmLevel(notice), fields, message: `alarm ${notice.state}` }
    }
    case 'clock': {
      const { what, offsetMs: offset_ms } = notice
      const fields = { what, offset_ms, detail: describeClock(notice) }
      return { level: what === 'returned' ? 'info' : 'warn', fields, message: `wall clock ${what}` }
    }
    case 'carrier': {
      const { error } = notice
      const fields = { ...(error !== undefined && { error: errorSummary(error) }) }
      return { level: 'warn', fields, message: `carrier: ${notice.text}` }
    }
    case 'worker_not_started': {
      const fields = { queues: notice.queues.join(', ') }
      return { level: 'warn', fields, message: `worker never started: ${howToStart}` }
    }
    case 'delivery_refused': {
      const { queue, id, receiveCount: attempt, fate, error } = notice
      const fields = { queue, id, attempt, outcome: outcomeOf(fate), error: error.message }
      return { level: 'error', fields, message: 'message refused' }
    }
  }
}

function outcomeOf(fate: RefusedDelivery['fate']): string {
  return fate === 'dead_lettered' ? 'dead-lettered' : 'kept in the queue'
}

interface Failure {
  readonly error: unknown
  readonly retryInMs: number | null
}

function failureFields({ error, retryInMs }: Failure): LogFields {
  return { error: errorSummary(error), retry_in_ms: retryInMs }
}

/** A failure that is retried may still succeed. */
function levelOf({ retryInMs }: Failure): Line['level'] {
  return retryInMs === null ? 'error' : 'warn'
}

function alarmLevel({ state, severity }: AlarmChange): Line['level'] {
  if (state !== 'ALARM') return 'info'
  return severity === 'critical' ? 'error' : 'warn'
}

function describe(notice: Notice): string {
  switch (notice.kind) {
    case 'sweep_failed':
      return failed('A sweep of the store', notice, 'Sweeping has stopped.')
    case 'service_failed':
      return failed(`The service ${notice.service}`, notice, 'It has stopped.')
    case 'tick_failed': {
      const { schedule, at, tries } = notice
      const tick = `Try ${tries} of the tick of ${schedule} at ${at.toISOString()}`
      return failed(tick, notice, 'The tick was abandoned.')
    }
    case 'notification_failed': {
      const { target, attempt } = notice
      return failed(
        `Attempt ${attempt} to notify ${target}`,
        notice,
        'The notification was abandoned.',
      )
    }
    case 'janitor':
      return `Stuck work: ${describeFinding(notice)}`
    case 'alarm':
      return `The alarm ${notice.alarm} is in ALARM: ${sentence(notice.reason)}`
    case 'clock':
      return describeClock(notice)
    case 'carrier':
      return `The carrier of a queue: ${notice.text}`
    case 'worker_not_started':
      return `A worker for ${notice.queues.join(', ')} was created but never started: ${howToStart}.`
    case 'delivery_refused': {
      const { queue, id, receiveCount, fate, error } = notice
      const place = fate === 'dead_lettered' ? 'was dead-lettered' : 'stays in the queue'
      const received = counted(receiveCount, 'time')
      return `Message ${id} of ${queue}, received ${received}, ${place}: ${error.message}`
    }
  }
}

function describeClock({ what, offsetMs, believedAfterMs }: ClockChange): string {
  const unitMs = Math.abs(offsetMs) < 2 * minuteMs ? 1_000 : minuteMs
  const size = formatDuration(Math.round(Math.abs(offsetMs) / unitMs) * unitMs)
  const distance = `${size} ${offsetMs > 0 ? 'ahead of' : 'behind'}`
  if (what === 'returned')
    return `The wall clock was ${distance} the elapsed time, and is correct again.`
  const now = `The wall clock is ${distance} the elapsed time.`
  return what === 'believed'
    ? `${now} This has lasted for ${formatDuration(believedAfterMs)}, so the store now uses it.`
    : `${now} Check the clock: the store will use it after ${formatDuration(believedAfterMs)}.`
}

function failed(what: string, { error, retryInMs }: Failure, end: string): string {
  const next = retryInMs === null ? end : `Next try in ${retryInMs} ms.`
  return `${what} failed: ${sentence(errorSummary(error))} ${next}`
}

/** Adds a full stop, if needed. */
function sentence(text: string): string {
  return /[.!?…]$/.test(text) ? text : `${text}.`
}
