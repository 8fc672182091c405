/** Reads the values of options; what is refused says which forms are accepted. */
import { InvalidArgumentError } from 'commander'
import { type Duration, durationMs, formatDuration } from '../../core/durations.ts'
import type { Range } from '../../core/limits.ts'

/** A duration in words, within a range; the answer is milliseconds. */
export function durationIn({ min, max }: Range): (text: string) => number {
  return (text) => {
    const ms = msOf(text)
    if (ms !== undefined && ms >= min && ms <= max) return ms
    const range = `from ${formatDuration(min)} to ${formatDuration(max)}`
    throw new InvalidArgumentError(`It must be a duration such as '90s' or '1h', ${range}.`)
  }
}

function msOf(text: string): number | undefined {
  try {
    // Whether it is one is what is asked here.
    return durationMs(text as Duration)
  } catch {
    return undefined
  }
}

export function wholeNumberIn({ min, max }: Pick<Range, 'min' | 'max'>): (text: string) => number {
  return (text) => {
    const number = Number(text)
    if (/^\d{1,15}$/.test(text) && number >= min && number <= max) return number
    throw new InvalidArgumentError(`It must be a whole number from ${min} to ${max}.`)
  }
}

export function oneOf<Choice extends string>(choices: readonly Choice[]): (text: string) => Choice {
  return (text) => {
    const choice = choices.find((one) => one === text)
    if (choice !== undefined) return choice
    throw new InvalidArgumentError(`It must be one of ${choices.join(', ')}.`)
  }
}

export type Pairs = Readonly<Record<string, string>>

/** `key=value`, given any number of times; the value may be empty and may contain `=`. */
export function pair(text: string, before: Pairs = {}): Pairs {
  const at = text.indexOf('=')
  if (at < 1) throw new InvalidArgumentError('It must have the form name=value.')
  return { ...before, [text.slice(0, at)]: text.slice(at + 1) }
}

/** An option that may be given any number of times. */
export function many(text: string, before: readonly string[] = []): readonly string[] {
  return [...before, text]
}

export function webAddress(text: string): string {
  const url = URL.parse(text)
  if (url !== null && (url.protocol === 'http:' || url.protocol === 'https:')) return url.href
  throw new InvalidArgumentError('It must be an address that begins with http:// or https://.')
}
