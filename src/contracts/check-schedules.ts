/** Checks the schedules of an app against its queues. */

import { idPattern } from '../core/check-message.ts'
import {
  checkLength,
  checkOneOf,
  checkRange,
  checkText,
  describeGiven,
  type Violations,
} from '../core/checks.ts'
import { limits } from '../core/limits.ts'
import type { OptionNames } from '../core/options.ts'
import { checkPartName } from './check-part-name.ts'
import { checkTiming } from './check-schedule-timing.ts'
import { type CheckedQueues, checkWorkQueue, checkWorkType } from './check-work.ts'
import { isJobsQueue } from './jobs-declaration.ts'
import type { DeclaredQueue } from './queue-declaration.ts'
import type { NameScope } from './resolve-names.ts'
import {
  type ScheduledJob,
  type ScheduledSend,
  type ScheduleOptions,
  scheduleMethods,
} from './schedule-declaration.ts'
import { checkKeys, type Fields, fieldIn, isRecord } from './setting-checks.ts'

const scheduleOptions: OptionNames<ScheduleOptions> = {
  cron: true,
  timezone: true,
  every: true,
  job: true,
  send: true,
  payload: true,
  missed: true,
  until: true,
}
const jobOptions: OptionNames<ScheduledJob> = {
  queue: true,
  type: true,
  owner: true,
  tenant: true,
  tier: true,
  attempts: true,
}
const sendOptions: OptionNames<ScheduledSend> = { queue: true, group: true }

const example = "a schedule made with schedule({ every: '1h', send: { queue: 'reports' } })"

export function checkSchedules(
  into: Violations,
  schedules: unknown,
  { queues, scope }: { readonly queues: CheckedQueues; readonly scope: NameScope },
): void {
  if (!isRecord(schedules)) {
    const allowed = 'an object of schedules'
    into.push({ field: 'schedules', given: describeGiven(schedules), allowed })
    return
  }
  const owners = new Map<string, string>()
  for (const [key, declared] of Object.entries(schedules)) {
    const field = `schedules.${key}`
    checkPartName(into, { field, key, scope, length: limits.storedScheduleNameLength, owners })
    checkMethodName(into, field, key)
    const options = isRecord(declared) && declared['kind'] === 'schedule' && declared['options']
    if (isRecord(options)) checkSchedule(into, field, { name: key, options, queues })
    else into.push({ field, given: describeGiven(declared), allowed: example })
  }
}

/** `mill.schedules.set` is a function, so it cannot be a schedule too. */
function checkMethodName(into: Violations, field: string, key: string): void {
  const names: readonly string[] = scheduleMethods
  if (!names.includes(key)) return
  const allowed = `another key than ${names.join(', ')}, which are functions of mill.schedules`
  into.push({ field, given: describeGiven(key), allowed })
}

export interface CheckedSchedule {
  /** The key of a declared schedule, or the name that a schedule is set under. */
  readonly name: string
  /** They may come from plain JavaScript. */
  readonly options: Fields
  readonly queues: CheckedQueues
}

/** @param field leads to the options; empty if they are arguments themselves */
export function checkSchedule(into: Violations, field: string, schedule: CheckedSchedule): void {
  const { options } = schedule
  checkKeys(into, field, options, Object.keys(scheduleOptions))
  checkTiming(into, field, options)
  checkTarget(into, field, schedule)
  if (options['missed'] !== undefined) {
    checkOneOf(into, fieldIn(field, 'missed'), options['missed'], ['skip', 'once', 'all'])
  }
}

function checkTarget(into: Violations, field: string, schedule: CheckedSchedule): void {
  const { job, send } = schedule.options
  if ((job === undefined) === (send === undefined)) {
    const given = job === undefined ? 'neither' : 'both'
    into.push({ field: field || 'schedule', given, allowed: 'either job or send' })
    return
  }
  const name = job === undefined ? 'send' : 'job'
  const target = job ?? send
  const at = fieldIn(field, name)
  if (!isRecord(target)) {
    const allowed = job === undefined ? '{ queue, group }' : '{ queue, type }'
    into.push({ field: at, given: describeGiven(target), allowed })
    return
  }
  checkKeys(into, at, target, Object.keys(job === undefined ? sendOptions : jobOptions))
  const queue = checkWorkQueue(into, `${at}.queue`, target['queue'], schedule.queues)
  if (queue === undefined) return
  if (job === undefined) checkSend(into, at, { target, queue, name: schedule.name })
  else checkJob(into, at, target, queue)
}

function checkJob(into: Violations, at: string, job: Fields, queue: DeclaredQueue): void {
  if (!isJobsQueue(queue)) {
    const allowed = 'a jobs queue; for messages, use send instead of job'
    into.push({ field: `${at}.queue`, given: describeGiven(job['queue']), allowed })
    return
  }
  checkWorkType(into, `${at}.type`, job['type'], queue)
  const { owner, tenant, tier, attempts } = job
  if (owner !== undefined) checkText(into, `${at}.owner`, owner, limits.ownerLength)
  if (tenant !== undefined) checkGroupText(into, `${at}.tenant`, tenant)
  if (tier !== undefined) checkText(into, `${at}.tier`, tier, limits.jobLabelLength)
  if (attempts !== undefined) checkRange(into, `${at}.attempts`, attempts, limits.jobAttempts)
}

interface SentTo {
  readonly target: Fields
  readonly queue: DeclaredQueue
  readonly name: string
}

function checkSend(into: Violations, at: string, { target, queue, name }: SentTo): void {
  const { group, queue: key } = target
  if (isJobsQueue(queue)) {
    const allowed = 'a queue of messages; for jobs, use job instead of send'
    into.push({ field: `${at}.queue`, given: describeGiven(key), allowed })
  } else if (queue.type === 'fifo') {
    checkGroupText(into, `${at}.group`, group ?? name)
  } else if (group !== undefined) {
    const allowed = 'none: only a schedule for a FIFO queue has a group'
    into.push({ field: `${at}.group`, given: describeGiven(group), allowed })
  }
}

function checkGroupText(into: Violations, field: string, group: unknown): void {
  checkLength(into, field, group, limits.groupLength)
  if (typeof group !== 'string' || idPattern.test(group)) return
  const allowed = 'letters, digits and punctuation marks'
  into.push({ field, given: describeGiven(group), allowed })
}
