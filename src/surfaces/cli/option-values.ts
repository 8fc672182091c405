/** Parses option values. Errors name the accepted forms. */
import { InvalidArgumentError } from 'commander'
import { type Duration, describeDuration, durationMs } from '../../core/durations.ts'
import type { Range } from '../../core/limits.ts'

/** Parses a duration such as `90s` within a range; returns milliseconds. */
export function durationIn({ min, max }: Range): (text: string) => number {
  return (text) => {
    const ms = msOf(text)
    if (ms !== undefined && ms >= min && ms <= max) return ms
    const range = `from ${describeDuration(min)} to ${describeDuration(max)}`
    throw new InvalidArgumentError(`Use a duration such as '90s' or '1h', ${range}.`)
  }
}

function msOf(text: string): number | undefined {
  try {
    // `durationMs` throws if the text is not a duration.
    return durationMs(text as Duration)
  } catch {
    return undefined
  }
}

export function time(text: string): Date {
  const date = new Date(text)
  if (Number.isNaN(date.getTime())) {
    throw new InvalidArgumentError('Use a time such as 2027-01-31T00:00:00Z.')
  }
  return date
}

export function wholeNumberIn({ min, max }: Pick<Range, 'min' | 'max'>): (text: string) => number {
  return (text) => {
    const number = Number(text)
    if (/^\d{1,15}$/.test(text) && number >= min && number <= max) return number
    throw new InvalidArgumentError(`Use a whole number from ${min} to ${max}.`)
  }
}

export function oneOf<Choice extends string>(choices: readonly Choice[]): (text: string) => Choice {
  return (text) => {
    const choice = choices.find((one) => one === text)
    if (choice !== undefined) return choice
    throw new InvalidArgumentError(`Use one of ${choices.join(', ')}.`)
  }
}

export type Pairs = Readonly<Record<string, string>>

/** `key=value`, repeatable. The value may be empty and may contain `=`. */
export function pair(text: string, before: Pairs = {}): Pairs {
  const at = text.indexOf('=')
  if (at < 1) throw new InvalidArgumentError('Use the form name=value.')
  return { ...before, [text.slice(0, at)]: text.slice(at + 1) }
}

/** A repeatable option. */
export function many(text: string, before: readonly string[] = []): readonly string[] {
  return [...before, text]
}

export function webAddress(text: string): string {
  const url = URL.parse(text)
  if (url !== null && (url.protocol === 'http:' || url.protocol === 'https:')) return url.href
  throw new InvalidArgumentError('Use a URL that starts with http:// or https://.')
}
