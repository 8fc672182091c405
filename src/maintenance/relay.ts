/**
 * Delivers notifications from the outbox of a store to webhooks and queues, at least once. Failed deliveries
 * are retried with growing pauses, and abandoned after a day.
 */
import type { AlarmStore, Notification } from '../backends/alarm-store.ts'
import type { Backend } from '../backends/backend.ts'
import { errorSummary } from '../core/error-summary.ts'
import type { Timers } from '../core/ports.ts'
import { Service, type ServiceFailure, type SliceEnd } from './service.ts'
import type { Webhook } from './webhook.ts'

export interface RelayOptions {
  readonly alarms: Pick<AlarmStore, 'now' | 'takeNotifications' | 'settleNotification'>
  readonly backend: Pick<Backend, 'send' | 'readQueue'>
  readonly webhook: Webhook
  readonly timers: Timers
  /** Pause after an empty outbox. Default: 5000. */
  readonly intervalMs?: number
  readonly onUndelivered: (failure: UndeliveredNotification) => void
  readonly onFailure?: (failure: ServiceFailure) => void
}

export interface UndeliveredNotification {
  /** The queue, or the origin of the webhook, because its path may be a secret. */
  readonly target: string
  readonly attempt: number
  readonly error: unknown
  /** Null: the notification was abandoned. */
  readonly retryInMs: number | null
}

const defaultIntervalMs = 5_000

/** Concurrent deliveries. */
const takenAtOnce = 10

const timeoutMs = 10_000

/** Longer than a delivery can take, so that no other process delivers the same notification. */
const leaseMs = 60_000

const firstRetryMs = 5_000
const retryMsMax = 600_000
const givenUpAfterMs = 86_400_000

export class Relay extends Service {
  readonly #options: RelayOptions
  #stopping = new AbortController()

  constructor(options: RelayOptions) {
    const { timers, intervalMs = defaultIntervalMs, onFailure } = options
    super({ timers, intervalMs, onFailure, slice: () => this.#deliverSome() })
    this.#options = options
  }

  /** Aborts current deliveries. The next relay retries them. */
  override async stop(): Promise<void> {
    this.#stopping.abort()
    await super.stop()
    this.#stopping = new AbortController()
  }

  async #deliverSome(): Promise<SliceEnd> {
    const { alarms } = this.#options
    const taken = await alarms.takeNotifications({ limit: takenAtOnce, leaseMs })
    await Promise.all(taken.map((notification) => this.#deliver(notification)))
    return { more: taken.length === takenAtOnce }
  }

  async #deliver(notification: Notification): Promise<void> {
    const { id } = notification
    try {
      await (notification.kind === 'webhook' ? this.#post(notification) : this.#send(notification))
    } catch (error) {
      await this.#failed(notification, error)
      return
    }
    await this.#options.alarms.settleNotification({ id, outcome: 'delivered' })
  }

  async #failed(notification: Notification, failure: unknown): Promise<void> {
    const { alarms, onUndelivered } = this.#options
    const { id, attempt, createdAt } = notification
    if (this.#stopping.signal.aborted) {
      await alarms.settleNotification({ id, outcome: 'retry', delayMs: 0, error: 'stopped' })
      return
    }
    const delayMs = retryAfterMs(attempt)
    const isOver = (await alarms.now()) + delayMs - createdAt > givenUpAfterMs
    const error = errorSummary(failure)
    await alarms.settleNotification(
      isOver ? { id, outcome: 'given_up', error } : { id, outcome: 'retry', delayMs, error },
    )
    const target = shownTarget(notification)
    onUndelivered({ target, attempt, error: failure, retryInMs: isOver ? null : delayMs })
  }

  async #post({ target: url, body, key, attempt }: Notification): Promise<void> {
    const controller = new AbortController()
    const abort = (): void => controller.abort()
    const cancel = this.#options.timers.after(timeoutMs, abort, { background: true })
    const stopping = this.#stopping.signal
    stopping.addEventListener('abort', abort, { once: true })
    // Notifications that were taken during the stop are not started.
    if (stopping.aborted) abort()
    const headers = { 'millrace-notification': key, 'millrace-attempt': String(attempt) }
    try {
      await this.#options.webhook({ url, body, headers, signal: controller.signal })
    } catch (error) {
      const isLate = controller.signal.aborted
      throw isLate ? new Error(`No response within ${timeoutMs} ms.`) : error
    } finally {
      cancel()
      stopping.removeEventListener('abort', abort)
    }
  }

  async #send({ target: queue, body, key }: Notification): Promise<void> {
    const { backend } = this.#options
    const { settings } = await backend.readQueue({ queue })
    const message =
      settings.type === 'fifo'
        ? { body, group: 'alarms', deduplicationId: `notification-${key}` }
        : { body }
    await backend.send({ queue, messages: [message], allOrNothing: true })
  }
}

/** 5 s, 10 s, 20 s and so on, up to 10 min. */
export function retryAfterMs(attempt: number): number {
  return Math.min(retryMsMax, firstRetryMs * 2 ** Math.min(attempt - 1, 20))
}

function shownTarget({ kind, target }: Notification): string {
  return kind === 'queue' ? target : (URL.parse(target)?.origin ?? 'a webhook')
}
