/** What may be said about a job beside its payload, by the limits that hold on every backend. */
import type { BackoffPolicy } from './backoff.ts'
import { checkNumber, checkRange, checkText, describeGiven, type Violations } from './checks.ts'
import { limits } from './limits.ts'

export interface JobLabels {
  readonly tier?: string
  readonly traceId?: string
  readonly tags?: readonly string[]
}

/** @param prefix goes before the names of the fields */
export function checkJobLabels(into: Violations, prefix: string, labels: JobLabels): void {
  const { tier, traceId, tags } = labels
  if (tier !== undefined) checkText(into, `${prefix}tier`, tier, limits.jobLabelLength)
  if (traceId !== undefined) checkText(into, `${prefix}traceId`, traceId, limits.jobLabelLength)
  if (tags !== undefined) checkJobTags(into, `${prefix}tags`, tags)
}

function checkJobTags(into: Violations, field: string, tags: unknown): void {
  const { max } = limits.tagsPerJob
  if (!Array.isArray(tags) || tags.length > max) {
    const given = Array.isArray(tags) ? `${tags.length} entries` : describeGiven(tags)
    into.push({ field, given, allowed: `an array of at most ${max} texts` })
    return
  }
  for (const [index, tag] of tags.entries()) {
    checkText(into, `${field}[${index}]`, tag, limits.jobLabelLength)
  }
}

export function checkBackoffPolicy(into: Violations, field: string, policy: BackoffPolicy): void {
  const { fromMs, factor, maxMs, jitter } = policy
  checkRange(into, `${field}.fromMs`, fromMs, limits.backoffMs)
  checkNumber(into, `${field}.factor`, factor, { min: 1, max: 10 })
  checkRange(into, `${field}.maxMs`, maxMs, limits.backoffMs)
  if (maxMs < fromMs) {
    into.push({ field: `${field}.maxMs`, given: `${maxMs}`, allowed: 'at least fromMs' })
  }
  checkNumber(into, `${field}.jitter`, jitter, { min: 0, max: 1 })
}
