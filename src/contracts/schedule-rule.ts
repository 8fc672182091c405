/**
 * When a schedule ticks, as a rule that can be asked. A rule has one text, from which it can be made
 * again: the store keeps that text, so whoever has the store knows the next tick without the app.
 */
import { Cron } from 'croner'
import { durationMs, formatDuration } from '../core/durations.ts'
import type { ScheduleOptions } from './schedule-declaration.ts'

export interface ScheduleRule {
  /** `every 1h`, or `cron 0 9 * * 1-5 in Europe/Berlin`. */
  readonly text: string
  /** The first tick later than this moment; null when there is none. */
  nextAfter(atMs: number): number | null
  /** The latest ticks up to this moment, oldest first, at most so many. */
  latest(untilMs: number, max: number): readonly number[]
}

export const defaultZone = 'UTC'

/** The rule of a declared schedule. Throws what croner or `Intl` say about a wrong one. */
export function ruleOf(options: Pick<ScheduleOptions, 'every' | 'cron' | 'zone'>): ScheduleRule {
  return options.every === undefined
    ? cronRule(options.cron ?? '', options.zone ?? defaultZone)
    : intervalRule(durationMs(options.every, 'every'))
}

const cronText = /^cron (.+) in (\S+)$/
const intervalText = /^every (\d+(?:ms|s|m|h|d))$/

/** The rule that has this text. Throws when no rule has. */
export function ruleFromText(text: string): ScheduleRule {
  const [, every] = intervalText.exec(text) ?? []
  // What the pattern lets through has the form of a duration.
  if (every !== undefined) return intervalRule(durationMs(every as '1s', 'every'))
  const [, cron, zone] = cronText.exec(text) ?? []
  if (cron === undefined || zone === undefined) throw new Error('not the text of a rule')
  return cronRule(cron, zone)
}

/** Ticks lie at whole multiples since 1970, so that every process knows them. */
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
 * Cron by croner: local times that a change of the clocks leaves out are moved to the end of the gap
 * if the rule has one time a day, and left out otherwise; those that come twice are met once and twice.
 */
function cronRule(cron: string, zone: string): ScheduleRule {
  const fields = cron.trim().split(/\s+/).join(' ')
  // It would stand for the moment at which the rule is made, and mean something else in each process.
  if (fields.includes('?')) throw new TypeError('the character ? has no meaning here')
  const rule = new Cron(fields, { timezone: zone, mode: '5-or-6-parts', paused: true })
  // Croner's answer is whole seconds, and the look back ends before the moment that it is given.
  const wholeSecond = (ms: number): number => Math.floor(ms / secondMs) * secondMs
  return {
    text: `cron ${fields} in ${zone}`,
    nextAfter: (atMs) => rule.nextRun(new Date(wholeSecond(atMs)))?.getTime() ?? null,
    latest: (untilMs, max) =>
      rule
        .previousRuns(max, new Date(wholeSecond(untilMs) + secondMs))
        .map((tick) => tick.getTime())
        .reverse(),
  }
}
