/**
 * Sends the messages about an attempt: always to telemetry, and to the language model if no rule explains it.
 * They depend only on the attempt, so sending them again after a crash is safe: receivers recognise duplicates.
 */

import type { QueueSender } from '../open-backend.ts'
import type { Attempt } from '../stores/attempts.ts'

/** Messages that were checked and are not sent yet. */
export interface Announcement {
  send(): Promise<void>
}

export function isUnclassified({ isCorrect, errorTagId }: Attempt): boolean {
  return !isCorrect && errorTagId === null
}

export async function announcementOf(sender: QueueSender, attempt: Attempt): Promise<Announcement> {
  const { id: attemptId, studentId, exerciseId, errorTagId } = attempt
  const { classifierSource, isCorrect, traceId } = attempt
  const telemetry = await sender.check(
    'attemptStream',
    { attemptId, studentId, exerciseId, errorTagId, classifierSource, isCorrect, traceId },
    { group: attemptId },
  )
  const question = isUnclassified(attempt)
    ? await sender.check('llmClassifyQueue', { attemptId, traceId })
    : undefined
  return {
    async send() {
      await telemetry.send()
      await question?.send()
    },
  }
}

export async function announceAttempt(sender: QueueSender, attempt: Attempt): Promise<void> {
  const announcement = await announcementOf(sender, attempt)
  await announcement.send()
}
