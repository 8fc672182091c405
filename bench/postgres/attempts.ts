/** Whether the handler of each job was started exactly once. */
import type { Counts } from './contender.child.ts'

export interface Attempts {
  readonly enqueued: number
  readonly lost: number
  readonly repeated: number
}

/** Each job was started once, or still waits. Otherwise it was lost, or it will be run again. */
export function attemptsOf({ enqueued, started, repeated, unfinished }: Counts): Attempts {
  const missing = enqueued - started - unfinished
  return { enqueued, lost: Math.max(0, missing), repeated: repeated + Math.max(0, -missing) }
}

export function sumOfAttempts(all: readonly Attempts[]): Attempts {
  const sum = (field: keyof Attempts): number =>
    all.reduce((total, attempts) => total + attempts[field], 0)
  return { enqueued: sum('enqueued'), lost: sum('lost'), repeated: sum('repeated') }
}

export function formatAttempts({ lost, repeated }: Attempts): string {
  return `${lost} lost, ${repeated} repeated`
}
