/** Checks of arguments about metrics. */
import {
  checkNumber,
  checkOneOf,
  checkRange,
  checkText,
  describeGiven,
  type Violations,
} from '../core/checks.ts'
import { durationBuckets } from '../core/duration-buckets.ts'
import { attemptEndings, type DurationFigures } from '../core/handler-figures.ts'
import { limits } from '../core/limits.ts'
import { type Checks, checkPage } from './checking.ts'
import type { HandlerFigures, MetricStore, QueueFigures, ReportFigures } from './metric-store.ts'

export const metricChecks: Checks<MetricStore> = {
  sample: null,
  report: checkReport,
  minutes: checkSpan,
  snapshot: checkPage,
  values: (into, request) => {
    checkText(into, 'name', request.name, limits.metricNameLength)
    checkSpan(into, request)
  },
  latest: checkPage,
}

function checkReport(into: Violations, { queues, values = [] }: ReportFigures): void {
  for (const figures of queues) checkFigures(into, figures)
  for (const { name, value } of values) {
    checkText(into, 'name', name, limits.metricNameLength)
    checkNumber(into, 'value', value, { min: -Number.MAX_VALUE, max: Number.MAX_VALUE })
  }
}

const counts = { min: 0, max: Number.MAX_SAFE_INTEGER, unit: 'in all' }

function checkFigures(into: Violations, { emptyReceives, handlers }: QueueFigures): void {
  if (emptyReceives !== undefined) checkRange(into, 'emptyReceives', emptyReceives, counts)
  if (handlers !== undefined) checkHandlers(into, handlers)
}

function checkHandlers(into: Violations, { endings, runs, waits }: HandlerFigures): void {
  for (const ending of attemptEndings) {
    checkRange(into, `handlers.endings.${ending}`, endings[ending], counts)
  }
  checkDurations(into, 'handlers.runs', runs)
  checkDurations(into, 'handlers.waits', waits)
}

function checkDurations(into: Violations, field: string, figures: DurationFigures): void {
  const { msSum, msMax, buckets } = figures
  checkNumber(into, `${field}.msSum`, msSum, counts)
  checkNumber(into, `${field}.msMax`, msMax, counts)
  checkOneOf(into, `${field}.buckets.length`, buckets.length, [durationBuckets])
  for (const count of buckets) checkRange(into, `${field}.buckets`, count, counts)
}

function checkSpan(
  into: Violations,
  { from, to }: { readonly from: number; readonly to: number },
): void {
  checkRange(into, 'from', from, moments)
  checkRange(into, 'to', to, moments)
  if (from <= to) return
  into.push({ field: 'to', given: describeGiven(to), allowed: "not before 'from'" })
}

/** As far as a date goes. */
const moments = { min: 0, max: 8_640_000_000_000_000, unit: 'ms since the epoch' }
