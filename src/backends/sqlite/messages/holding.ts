/** How the row of a message stores the end of a lease, a delay or retention. */
import type { Queue } from '../queues/queue-cache.ts'

/** When to check the message, and what to store. */
export interface Hold {
  readonly dueAt: number
  readonly heldUntil: number | null
}

/** Holds a message back; its retention may end before that, and may still be prolonged. */
export function hold(queue: Queue, sentAt: number, until: number): Hold {
  const retentionEnds = sentAt + queue.settings.retentionMs
  return until <= retentionEnds
    ? { dueAt: until, heldUntil: null }
    : { dueAt: retentionEnds, heldUntil: until }
}

/** When the retention of a message has ended: with a change of the queue, if that shortened it. */
export function expiredAt(queue: Queue, sentAt: number): number {
  return Math.max(sentAt + queue.settings.retentionMs, queue.changedAt)
}

/** Messages sent at this time or earlier have expired. */
export function retentionCutoff(queue: Queue, now: number): number {
  return now - queue.settings.retentionMs
}
