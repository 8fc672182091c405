/** What counts for a job that does not say otherwise, on every backend. */
import type { QueueSettings } from './queue-settings.ts'

export const defaultJobAttempts = 3

export const defaultIdempotencyMs = 86_400_000

/** How many times a job may run, by the settings of its queue. */
export function attemptsIn({ deadLetter }: Pick<QueueSettings, 'deadLetter'>): number {
  return deadLetter?.maxReceives ?? defaultJobAttempts
}
