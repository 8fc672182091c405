/** The facts about a delivery, for its handler and for the events of the worker. */
import type { Delivery, Outcome } from '../backends/backend.ts'
import { labelsOf, noLabels } from '../core/job-labels.ts'
import type { TransitionFacts } from '../observability/transition-log.ts'
import type { Facts } from './handler-context.ts'
import type { Source } from './source.ts'
import type { WorkerEvent, WorkerEventName } from './worker-event.ts'

export function factsOf({ setup }: Source, delivery: Delivery): Facts {
  const { id, receiveCount, group, token, job } = delivery
  return {
    ...labelsOf(job ?? noLabels),
    queue: setup.key,
    type: job?.type ?? null,
    id: job?.id ?? id,
    attempt: job?.attempt ?? receiveCount,
    maxAttempts: job?.maxAttempts ?? setup.maxReceives,
    owner: job?.owner ?? null,
    tenant: group,
    token,
  }
}

/** The details of an event besides the facts. */
export type EventDetails = Partial<
  Pick<WorkerEvent, 'durationMs' | 'waitedMs' | 'error' | 'failure' | 'cause' | 'retryInMs'>
>

const noDetails: EventDetails = {}

export function eventOf(
  event: WorkerEventName,
  facts: TransitionFacts,
  details: EventDetails = noDetails,
): WorkerEvent {
  return {
    event,
    queue: facts.queue,
    type: facts.type,
    id: facts.id,
    attempt: facts.attempt,
    maxAttempts: facts.maxAttempts,
    traceId: facts.traceId,
    durationMs: details.durationMs ?? 0,
    waitedMs: details.waitedMs ?? null,
    error: details.error ?? null,
    failure: details.failure ?? null,
    cause: details.cause,
    retryInMs: details.retryInMs ?? null,
  }
}

/** The event that follows a settled outcome. */
export function eventAfter(
  outcome: Outcome,
  cause: unknown,
): readonly [WorkerEventName, EventDetails] {
  switch (outcome.kind) {
    case 'acknowledge':
      return ['completed', {}]
    case 'release':
      return ['released', {}]
    case 'deadLetter':
      return ['failed', { error: outcome.reason, failure: outcome.failure ?? null, cause }]
    case 'retry': {
      const { error = null, failure = null, delayMs: retryInMs } = outcome
      return ['retried', { error, failure, cause, retryInMs }]
    }
  }
}

/** The details of an attempt whose outcome was not stored. */
export function lostAfter(
  outcome: Outcome,
  cause: unknown,
  error = 'The lease ended before the attempt was settled.',
): EventDetails {
  const failure = 'failure' in outcome ? (outcome.failure ?? null) : null
  return { error, failure, cause }
}
