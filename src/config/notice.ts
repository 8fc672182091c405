/** What an open app has to tell beside its answers: things that no caller is waiting for. */
import { errorSummary } from '../core/error-summary.ts'
import type { RefusedDelivery } from '../leases/open-deliveries.ts'
import type { SweepFailure } from '../maintenance/sweeper.ts'
import type { Logger } from '../observability/logger.ts'

export type Notice =
  | ({ readonly kind: 'delivery_refused' } & RefusedDelivery)
  | ({ readonly kind: 'sweep_failed' } & SweepFailure)
  | {
      readonly kind: 'agent_failed'
      /** What it does: `janitor`, `scheduler`. */
      readonly agent: string
      readonly error: unknown
      readonly retryInMs: number | null
    }

/** Without a listener a notice becomes a process warning, so that it is not lost. */
export function warnOf(notice: Notice): void {
  process.emitWarning(describe(notice), { type: 'MillraceWarning', code: notice.kind })
}

export function logOf(log: Logger): (notice: Notice) => void {
  return (notice) => {
    const { kind } = notice
    if (notice.kind === 'sweep_failed') {
      const { retryInMs: retry_in_ms } = notice
      log.error({ kind, error: errorSummary(notice.error), retry_in_ms }, 'upkeep failed')
    } else if (notice.kind === 'agent_failed') {
      const { agent, retryInMs: retry_in_ms } = notice
      const error = errorSummary(notice.error)
      log.error({ kind, agent, error, retry_in_ms }, 'background work failed')
    } else {
      const { queue, id, receiveCount: attempt, fate, error } = notice
      log.error({ kind, queue, id, attempt, fate, error: error.message }, 'message refused')
    }
  }
}

function describe(notice: Notice): string {
  if (notice.kind === 'sweep_failed' || notice.kind === 'agent_failed') {
    const { error, retryInMs } = notice
    const what =
      notice.kind === 'agent_failed' ? `work of the ${notice.agent}` : 'upkeep of the store'
    const reason = error instanceof Error ? error.message : String(error)
    const next = retryInMs === null ? 'It has stopped.' : `Next try in ${retryInMs} ms.`
    return `The ${what} failed: ${reason} ${next}`
  }
  const { queue, id, receiveCount, fate, error } = notice
  const place = fate === 'buried' ? 'was dead-lettered' : 'stays in the queue'
  return `Message ${id} of ${queue}, received ${receiveCount} times, ${place}: ${error.message}`
}
