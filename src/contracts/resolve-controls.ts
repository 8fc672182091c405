/** Turns declared controls into the settings that a backend enforces on a queue's receivers. */
import { type BackoffPolicy, defaultBackoff } from '../core/backoff.ts'
import { type Duration, durationMs } from '../core/durations.ts'
import {
  type Ceilings,
  defaultQueueSettings,
  type HistoryLifetime,
  type ObeyedSwitches,
  type Rate,
} from '../core/queue-settings.ts'
import { isJobsQueue, type JobType, jobTypeOf } from './jobs-declaration.ts'
import type { Backoff, DeclaredQueue, RateLimit } from './queue-declaration.ts'

export function ceilingsOf(declared: DeclaredQueue): Ceilings {
  const { concurrency, tenantConcurrency, rate, limits = [] } = declared.options
  return {
    running: concurrency ?? null,
    runningPerTenant: tenantConcurrency ?? null,
    runningPerType: fromTypes(declared, (type) => type.concurrency),
    rate: rateOf(rate),
    perKey: limits.map((one) => ({
      key: one.key,
      running: one.concurrency ?? null,
      rate: rateOf(one.rate),
    })),
  }
}

function rateOf(rate: RateLimit | undefined): Rate | null {
  return rate === undefined ? null : { max: rate.max, perMs: durationMs(rate.per) }
}

export function obeyedSwitchesOf(declared: DeclaredQueue): ObeyedSwitches {
  return {
    queue: namesOf(declared.options.obeys),
    types: fromTypes(declared, ({ obeys }) => (obeys === undefined ? undefined : namesOf(obeys))),
  }
}

export function historyOf(declared: DeclaredQueue): HistoryLifetime {
  const { completed, failed } = (isJobsQueue(declared) && declared.options.keepFinished) || {}
  const { history } = defaultQueueSettings
  return {
    completedMs: lifetimeMs(completed, history.completedMs),
    failedMs: lifetimeMs(failed, history.failedMs),
  }
}

/** The first declared backoff of the job, its type or its queue, in that order. */
export function backoffOf(...declared: readonly (Backoff | undefined)[]): BackoffPolicy {
  const first = declared.find((one) => one !== undefined)
  if (first === undefined) return defaultBackoff
  const fromMs = first.from === undefined ? defaultBackoff.fromMs : durationMs(first.from)
  const maxMs = first.max === undefined ? defaultBackoff.maxMs : durationMs(first.max)
  return {
    fromMs,
    factor: first.factor ?? defaultBackoff.factor,
    maxMs: Math.max(fromMs, maxMs),
    jitter: first.jitter ?? defaultBackoff.jitter,
  }
}

function namesOf(names: string | readonly string[] = []): readonly string[] {
  return typeof names === 'string' ? [names] : [...names]
}

function lifetimeMs(
  declared: Duration | 'forever' | undefined,
  other: number | null,
): number | null {
  if (declared === undefined) return other
  return declared === 'forever' ? null : durationMs(declared)
}

function fromTypes<Value>(
  declared: DeclaredQueue,
  read: (type: JobType) => Value | undefined,
): Readonly<Record<string, Value>> {
  if (!isJobsQueue(declared)) return {}
  const entries = Object.keys(declared.options.types).flatMap((name) => {
    const type = jobTypeOf(declared, name)
    const value = type && read(type)
    return value === undefined ? [] : [[name, value] as const]
  })
  return Object.fromEntries(entries)
}
