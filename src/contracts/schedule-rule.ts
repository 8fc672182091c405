/**
 * When a schedule ticks. A rule can be rebuilt from its text. The store keeps the text, so a process that
 * opens the store can compute the next tick without the app.
 */
import { Cron } from 'croner'
import { durationMs, formatDuration } from '../core/durations.ts'
import type { ScheduleOptions } from './schedule-declaration.ts'

export interface ScheduleRule {
  /** `every 1h`, or `cron 0 9 * * 1-5 in Europe/Berlin`. */
  readonly text: string
  /** The first tick after this time; null if there is none. */
  nextAfter(atMs: number): number | null
  /** The latest ticks up to this time, at most `max`, oldest first. */
  latest(untilMs: number, max: number): readonly number[]
}

export const defaultZone = 'UTC'

/** The rule of a declared schedule. Throws the error of croner or `Intl` if it is invalid. */
export function ruleOf(options: Pick<ScheduleOptions, 'every' | 'cron' | 'zone'>): ScheduleRule {
  return options.every === undefined
    ? cronRule(options.cron ?? '', options.zone ?? defaultZone)
    : intervalRule(durationMs(options.every, 'every'))
}

const cronText = /^cron (.+) in (\S+)$/
const intervalText = /^every (\d+(?:ms|s|m|h|d))$/

/** The rule with this text. Throws if the text is not valid. */
export function ruleFromText(text: string): ScheduleRule {
  const [, every] = intervalText.exec(text) ?? []
  // The pattern only matches durations.
  if (every !== undefined) return intervalRule(durationMs(every as '1s', 'every'))
  const [, cron, zone] = cronText.exec(text) ?? []
  if (cron === undefined || zone === undefined) throw new Error('not the text of a schedule rule')
  return cronRule(cron, zone)
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
 * Cron by croner. A local time that the clock change skips moves to the end of the gap if the rule has one
 * time a day; otherwise it is left out. A local time that occurs twice ticks once or twice, in the same way.
 */
function cronRule(cron: string, zone: string): ScheduleRule {
  const fields = cron.trim().split(/\s+/).join(' ')
  // In croner it means the time at which the rule was made, which differs between processes.
  if (fields.includes('?')) throw new TypeError('the character ? is not supported; use *')
  const rule = new Cron(fields, { timezone: zone, mode: '5-or-6-parts', paused: true })
  // Croner works in whole seconds, and its look back excludes the given time.
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
