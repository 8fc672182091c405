/**
 * Finds every mistake in a declared app in one pass. Names depend on the stage, so `open` checks again with
 * the stage that it uses.
 */
import { checkQueueName } from '../core/check-queue.ts'
import { describeGiven, type Violations } from '../core/checks.ts'
import { didYouMean } from '../core/did-you-mean.ts'
import type { Violation } from '../core/millrace-error.ts'
import type { App } from './app-declaration.ts'
import { checkAlarmActions, checkAlarms } from './check-alarms.ts'
import { checkCollectors } from './check-collectors.ts'
import { checkFlows } from './check-flows.ts'
import { partKeyForm, partKeyPattern } from './check-part-name.ts'
import { checkQueueOptions } from './check-queue-options.ts'
import { checkSchedules } from './check-schedules.ts'
import { checkBudgets, checkDefaultTiers, checkTiers } from './check-tiers.ts'
import { checkJanitor } from './janitor-declaration.ts'
import { isJobsQueue } from './jobs-declaration.ts'
import type { DeclaredQueue } from './queue-declaration.ts'
import {
  defaultStage,
  type NamedQueue,
  type NameScope,
  nameQueue,
  sharedDeadLetter,
} from './resolve-names.ts'
import { checkKeys, isRecord } from './setting-checks.ts'

export function checkApp(
  app: App,
  stage: string = app.stage ?? defaultStage,
): readonly Violation[] {
  const violations: Violations = []
  const { name, queues, ...others } = app
  checkWord(violations, 'name', name)
  checkWord(violations, 'stage', stage)
  checkKeys(violations, '', { ...others, queues }, [
    'queues',
    'stage',
    'tiers',
    'defaultTier',
    'budgets',
    'alarms',
    'alarmActions',
    'flows',
    'chains',
    'collectors',
    'schedules',
    'janitor',
  ])
  if (!isRecord(queues)) {
    const allowed = 'an object of queues'
    violations.push({ field: 'queues', given: describeGiven(queues), allowed })
    return violations
  }
  const shaped = new Map<string, DeclaredQueue>()
  for (const [key, declared] of Object.entries(queues)) {
    checkWord(violations, `queues.${key}`, key)
    if (checkQueueOptions(violations, `queues.${key}`, declared)) shaped.set(key, declared)
  }
  checkDeadLetterTargets(violations, Object.keys(queues), shaped)
  const { tiers, defaultTier, budgets, alarms, alarmActions, schedules, janitor } = app
  if (tiers !== undefined) checkTiers(violations, tiers, shaped)
  if (defaultTier !== undefined) checkDefaultTiers(violations, defaultTier, tiers, shaped)
  if (budgets !== undefined) checkBudgets(violations, budgets)
  const subjects = {
    queues: Object.keys(queues),
    flows: [...Object.keys({ ...app.flows }), ...Object.keys({ ...app.chains })],
    shaped,
  }
  if (alarms !== undefined) checkAlarms(violations, alarms, subjects)
  if (alarmActions !== undefined) {
    checkAlarmActions(violations, 'alarmActions', alarmActions, subjects)
  }
  const scope = { app: name, stage }
  checkFlows(violations, { parts: app, queues: shaped, scope })
  if (schedules !== undefined) checkSchedules(violations, schedules, { queues: shaped, scope })
  checkCollectors(violations, app.collectors, { queues: shaped, scope })
  if (janitor !== undefined) checkJanitor(violations, janitor)
  checkNames(violations, nameable(violations, shaped, scope))
  return violations
}

/** The queues whose names can be checked. A name made from a refused part would only repeat its error. */
function nameable(
  violations: readonly Violation[],
  queues: ReadonlyMap<string, DeclaredQueue>,
  scope: NameScope,
): readonly NamedQueue[] {
  const refused = new Set(violations.map(({ field }) => field))
  if (refused.has('name') || refused.has('stage')) return []
  return [...queues]
    .filter(([key]) =>
      ['', '.name', '.deadLetter', '.deadLetter.name'].every(
        (part) => !refused.has(`queues.${key}${part}`),
      ),
    )
    .map(([key, declared]) => nameQueue(key, declared, scope))
}

function checkWord(into: Violations, field: string, value: unknown): void {
  if (typeof value === 'string' && partKeyPattern.test(value)) return
  into.push({ field, given: describeGiven(value), allowed: partKeyForm })
}

function checkDeadLetterTargets(
  into: Violations,
  keys: readonly string[],
  queues: ReadonlyMap<string, DeclaredQueue>,
): void {
  for (const [key, declared] of queues) {
    const target = sharedDeadLetter(declared)
    if (target === undefined) continue
    const refuse = (given: string, allowed: string): void => {
      into.push({ field: `queues.${key}.deadLetter.queue`, given, allowed })
    }
    const { type } = declared
    const other = queues.get(target)
    if (!keys.includes(target)) {
      const hint = didYouMean(
        target,
        keys.filter((name) => name !== key),
      )
      refuse(describeGiven(target), `the key of a declared queue${hint}`)
    } else if (target === key) {
      refuse(`'${target}', the queue itself`, 'another queue')
    } else if (other !== undefined && other.type !== type) {
      refuse(`'${target}', a ${other.type} queue`, `a ${type} queue`)
    } else if (other !== undefined && isJobsQueue(other)) {
      // A worker of that queue would receive messages that are not jobs.
      refuse(`'${target}', a jobs queue`, 'a queue declared with queue({...})')
    } else if (leadsBackTo(key, queues)) {
      refuse(
        `'${target}', whose dead letters return to '${key}'`,
        'a queue whose dead letters do not return here',
      )
    }
  }
}

function leadsBackTo(start: string, queues: ReadonlyMap<string, DeclaredQueue>): boolean {
  const seen = new Set<string>()
  let key: string | undefined = start
  while (key !== undefined && !seen.has(key)) {
    seen.add(key)
    const declared: DeclaredQueue | undefined = queues.get(key)
    key = declared && sharedDeadLetter(declared)
  }
  return key === start
}

function checkNames(into: Violations, queues: readonly NamedQueue[]): void {
  const owners = new Map<string, string>()
  const claim = (field: string, name: string): void => {
    const owner = owners.get(name)
    if (owner === undefined) {
      owners.set(name, field)
      checkQueueName(into, `${field}.name`, name)
    } else {
      const allowed = `a unique name; ${owner} already has it`
      into.push({ field: `${field}.name`, given: describeGiven(name), allowed })
    }
  }
  for (const { key, name } of queues) claim(`queues.${key}`, name)
  for (const { key, ownDeadLetter } of queues) {
    if (ownDeadLetter !== null) claim(`queues.${key}.deadLetter`, ownDeadLetter)
  }
}
