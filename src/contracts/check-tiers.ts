/** Checks the tiers and budgets of an app against its queues. */
import {
  checkOneOf,
  checkRange,
  checkText,
  describeGiven,
  type Violations,
} from '../core/checks.ts'
import { didYouMean } from '../core/did-you-mean.ts'
import { limits } from '../core/limits.ts'
import { isJobsQueue, jobTypeOf } from './jobs-declaration.ts'
import type { DeclaredQueue } from './queue-declaration.ts'
import { checkDuration, checkEach, checkKeys, type Fields, isRecord } from './setting-checks.ts'

type Queues = ReadonlyMap<string, DeclaredQueue>

export function checkTiers(into: Violations, tiers: unknown, queues: Queues): void {
  if (!isRecord(tiers)) {
    into.push({ field: 'tiers', given: describeGiven(tiers), allowed: 'an object of tiers' })
    return
  }
  for (const [name, tier] of Object.entries(tiers)) {
    const field = `tiers.${name.slice(0, limits.jobLabelLength.max)}`
    checkText(into, field, name, limits.jobLabelLength)
    checkTier(into, field, tier, queues)
  }
}

function checkTier(into: Violations, field: string, tier: unknown, queues: Queues): void {
  if (!isRecord(tier)) {
    const allowed = "a tier such as { queue: 'lite', allows: ['OCR'] }"
    into.push({ field, given: describeGiven(tier), allowed })
    return
  }
  checkKeys(into, field, tier, ['queue', 'allows'])
  const key = tier['queue']
  const queue = typeof key === 'string' ? queues.get(key) : undefined
  if (queue === undefined || !isJobsQueue(queue)) {
    const keys = [...queues].filter(([, one]) => isJobsQueue(one)).map(([name]) => name)
    const hint = typeof key === 'string' ? didYouMean(key, keys) : ''
    const allowed = `the key of a jobs queue${hint}`
    into.push({ field: `${field}.queue`, given: describeGiven(key), allowed })
    return
  }
  const types = Object.keys(queue.options.types)
  const { allows } = tier
  if (!Array.isArray(allows) || allows.length === 0) {
    const allowed = 'at least one job type'
    into.push({ field: `${field}.allows`, given: describeGiven(allows), allowed })
    return
  }
  for (const type of allows) checkOneOf(into, `${field}.allows`, type, types)
}

export function checkDefaultTiers(
  into: Violations,
  defaults: unknown,
  tiers: unknown,
  queues: Queues,
): void {
  const names = isRecord(tiers) ? Object.keys(tiers) : []
  if (!isRecord(defaults)) {
    const allowed = "an object such as { OCR: 'lite' }"
    into.push({ field: 'defaultTier', given: describeGiven(defaults), allowed })
    return
  }
  for (const [type, tier] of Object.entries(defaults)) {
    const field = `defaultTier.${type}`
    if (names.length > 0) checkOneOf(into, field, tier, names)
    else into.push({ field, given: describeGiven(tier), allowed: 'an app that declares tiers' })
    const declared = isRecord(tiers) ? tiers[String(tier)] : undefined
    if (!isRecord(declared) || !Array.isArray(declared['allows'])) continue
    if (!hasType(queues, type)) {
      into.push({
        field,
        given: 'an unknown job type',
        allowed: 'a type of a jobs queue of the app',
      })
    } else if (!declared['allows'].includes(type)) {
      const allowed = `a tier that allows ${type}`
      into.push({ field, given: describeGiven(tier), allowed })
    }
  }
}

function hasType(queues: Queues, type: string): boolean {
  return [...queues.values()].some((one) => isJobsQueue(one) && jobTypeOf(one, type) !== undefined)
}

export function checkBudgets(into: Violations, budgets: unknown): void {
  if (!isRecord(budgets)) {
    into.push({ field: 'budgets', given: describeGiven(budgets), allowed: 'an object of budgets' })
    return
  }
  checkRange(into, 'budgets: count', Object.keys(budgets).length, limits.budgetsPerCall)
  for (const [name, budget] of Object.entries(budgets)) {
    const field = `budgets.${name.slice(0, limits.switchNameLength.max)}`
    checkText(into, field, name, limits.switchNameLength)
    if (isRecord(budget)) checkBudget(into, field, budget)
    else {
      const allowed = "a budget such as { limit: 100, per: '1d', trips: 'LLM_PAUSED' }"
      into.push({ field, given: describeGiven(budget), allowed })
    }
  }
}

function checkBudget(into: Violations, field: string, budget: Fields): void {
  checkKeys(into, field, budget, ['limit', 'unit', 'per', 'trips', 'mode'])
  const { limit } = budget
  const { max } = limits.budgetAmount
  if (typeof limit !== 'number' || !(limit > 0 && limit <= max)) {
    const allowed = `a number above 0, at most ${max}`
    into.push({ field: `${field}.limit`, given: describeGiven(limit), allowed })
  }
  checkText(into, `${field}.trips`, budget['trips'], limits.switchNameLength)
  checkEach(into, field, budget, {
    unit: (to, at, value) => checkText(to, at, value, limits.budgetUnitLength),
    per: (to, at, value) => checkDuration(to, at, value, limits.budgetMs),
    mode: (to, at, value) => checkOneOf(to, at, value, ['hold', 'divert']),
  })
}
