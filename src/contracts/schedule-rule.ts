/**
 * When a schedule ticks. A rule can be rebuilt from its text. The store keeps the text, so a process that
 * opens the store can compute the next tick without the app.
 */
import { Cron } from 'croner'
import { durationMs, formatDuration } from '../core/durations.ts'
import type { SchedulePolicy, ScheduleTiming } from './schedule-declaration.ts'

export interface ScheduleRule {
  /** `every 1h`, or `cron 0 9 * * 1-5 in Europe/Berlin`, with ` until ` and a time if the schedule ends. */
  readonly text: string
  /** The first tick after this time; null if there is none. */
  nextAfter(atMs: number): number | null
  /** The latest ticks up to this time, at most `max`, oldest first. */
  latest(untilMs: number, max: number): readonly number[]
}

export const defaultTimezone = 'UTC'

/** The rule of a schedule. Throws the error of croner or `Intl` if it is invalid. */
export function ruleOf(
  options: Pick<ScheduleTiming & SchedulePolicy, 'every' | 'cron' | 'timezone' | 'until'>,
): ScheduleRule {
  const rule =
    options.every === undefined
      ? cronRule(options.cron ?? '', options.timezone ?? defaultTimezone)
      : intervalRule(durationMs(options.every, 'every'))
  return options.until === undefined ? rule : endingRule(rule, options.until.getTime())
}

const endingText = /^(.+) until (\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z)$/
const cronText = /^cron (.+) in (\S+)$/
const intervalText = /^every (\d+(?:ms|s|m|h|d))$/

/** The rule with this text. Throws if the text is not valid. */
export function ruleFromText(text: string): ScheduleRule {
  const [, endless, until] = endingText.exec(text) ?? []
  if (endless !== undefined && until !== undefined) {
    return endingRule(ruleFromText(endless), Date.parse(until))
  }
  const [, every] = intervalText.exec(text) ?? []
  // The pattern only matches durations.
  if (every !== undefined) return intervalRule(durationMs(every as '1s', 'every'))
  const [, cron, timezone] = cronText.exec(text) ?? []
  if (cron === undefined || timezone === undefined) {
    throw new Error('not the text of a schedule rule')
  }
  return cronRule(cron, timezone)
}

/** A tick at the time of the end still happens. */
function endingRule(rule: ScheduleRule, endMs: number): ScheduleRule {
  return {
    text: `${rule.text} until ${new Date(endMs).toISOString()}`,
    nextAfter: (atMs) => {
      const next = rule.nextAfter(atMs)
      return next === null || next > endMs ? null : next
    },
    latest: (untilMs, max) => rule.latest(Math.min(untilMs, endMs), max),
  }
}

/** Ticks are at whole multiples since 1970, so that every process computes the same ones. */
function intervalRule(everyMs: number): ScheduleRule {
  return {
    text: `every ${formatDuration(everyMs)}`,
    nextAfter: (atMs) => (Math.floor(atMs / everyMs) + 1) * everyMs,
    latest: (untilMs, max) => {
      const last = Math.floor(untilMs / everyMs)
      const first = Math.max(0, last - max + 1)
      return Array.from({ length: last - first + 1 }, (_, index) => (first + index) * everyMs)
    },
  }
}

const secondMs = 1_000

/**
 * Croner takes longer to read an expression than to compute a tick, and both take longer than the rest of a
 * tick. Schedules often share an expression, and are asked for the same tick one after the other.
 */
const readCrons = new Map<string, ReadCron>()
const readCronsMax = 1_000

interface ReadCron {
  readonly cron: Cron
  nextAfter(atMs: number): number | null
}

function readCron(fields: string, timezone: string): ReadCron {
  const text = `${fields} in ${timezone}`
  const known = readCrons.get(text)
  if (known !== undefined) return known
  const cron = new Cron(fields, { timezone, mode: '5-or-6-parts', paused: true })
  const read = { cron, nextAfter: remembering((atMs) => nextRun(cron, atMs)) }
  const [oldest] = readCrons.keys()
  if (oldest !== undefined && readCrons.size >= readCronsMax) readCrons.delete(oldest)
  readCrons.set(text, read)
  return read
}

function nextRun(cron: Cron, atMs: number): number | null {
  return cron.nextRun(new Date(atMs))?.getTime() ?? null
}

/** Remembers its latest results: the next tick from now, and a few that were asked for in turn with it. */
function remembering(next: (atMs: number) => number | null): (atMs: number) => number | null {
  const latest = new Map<number, number | null>()
  return (atMs) => {
    const known = latest.get(atMs)
    if (known !== undefined) return known
    const found = next(atMs)
    if (latest.size >= 4) latest.clear()
    latest.set(atMs, found)
    return found
  }
}

/**
 * Cron by croner. A local time that the clock change skips moves to the end of the gap if the rule has one
 * time a day; otherwise it is left out. A local time that occurs twice ticks once or twice, in the same way.
 */
function cronRule(cron: string, timezone: string): ScheduleRule {
  const fields = cron.trim().split(/\s+/).join(' ')
  // In croner it means the time at which the rule was made, which differs between processes.
  if (fields.includes('?')) throw new TypeError('the character ? is not supported; use *')
  const rule = readCron(fields, timezone)
  // Croner works in whole seconds, and its look back excludes the given time.
  const wholeSecond = (ms: number): number => Math.floor(ms / secondMs) * secondMs
  return {
    text: `cron ${fields} in ${timezone}`,
    nextAfter: (atMs) => rule.nextAfter(wholeSecond(atMs)),
    latest: (untilMs, max) =>
      rule.cron
        .previousRuns(max, new Date(wholeSecond(untilMs) + secondMs))
        .map((tick) => tick.getTime())
        .reverse(),
  }
}
