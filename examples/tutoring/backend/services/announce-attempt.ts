/**
 * Tells the rest of the system about an attempt: telemetry always, and the language model when no rule
 * has an explanation. What is told depends on the attempt alone, so telling it again after a crash says
 * nothing new, and the receivers recognise it.
 */
import type { Attempt } from '../stores/attempts.ts'
import type { CheckedMessage, QueueSender } from './queue-sender.ts'

export function isUnclassified({ isCorrect, errorTagId }: Attempt): boolean {
  return !isCorrect && errorTagId === null
}

export async function announcementOf(
  sender: QueueSender,
  attempt: Attempt,
): Promise<CheckedMessage> {
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
