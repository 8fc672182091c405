/**
 * What attemptReprocessWorker does with one message of the AI engine. A message with a submission creates an
 * attempt, once per submission. A message of the older format corrects the attempt that it names, once per
 * trace.
 */
import { randomUUID } from 'node:crypto'
import type { AttemptReprocessMessage } from '../messages.ts'
import type { QueueSender } from '../open-backend.ts'
import { classifyAttempt } from '../rules/classify-attempt.ts'
import { errorTagId } from '../rules/taxonomy.ts'
import type { Attempt } from '../stores/attempts.ts'
import type { Stores } from '../stores/stores.ts'
import { announceAttempt } from './announce-attempt.ts'
import { statementFor } from './classify-by-model.ts'

export interface ReprocessingParts {
  readonly stores: Stores
  readonly sender: QueueSender
}

export async function reprocessAttempt(
  { stores, sender }: ReprocessingParts,
  message: AttemptReprocessMessage,
): Promise<Attempt> {
  const attempt =
    message.guide_submission_id === undefined
      ? correctAttempt(stores, message)
      : attemptOfSubmission(stores, message, message.guide_submission_id)
  // Also if an earlier delivery stored it, because that one may have crashed before it sent the messages.
  await announceAttempt(sender, attempt)
  return attempt
}

function correctAttempt(stores: Stores, message: AttemptReprocessMessage): Attempt {
  const before = stores.attempts.get(message.attempt_id ?? '')
  if (before === undefined) throw new Error('The attempt of this message does not exist.')
  // Already done. Do not overwrite later results.
  if (before.traceId === message.trace_id) return before
  const corrected = withReading(stores, { ...before, inputMode: 'PHOTO' }, message)
  stores.attempts.replace(corrected)
  return corrected
}

function attemptOfSubmission(
  stores: Stores,
  message: AttemptReprocessMessage,
  submissionId: string,
): Attempt {
  const existing = stores.attempts.ofSubmission(submissionId)
  if (existing !== undefined) return existing
  const submission = stores.guides.submission(submissionId)
  if (submission === undefined) throw new Error('The submission of this message does not exist.')
  const blank: Attempt = {
    id: randomUUID(),
    studentId: submission.studentId,
    exerciseId: null,
    guideQuestionId: submission.guideQuestionId,
    guideSubmissionId: submission.id,
    inputMode: 'PHOTO_GUIDE',
    latexSteps: [],
    isCorrect: false,
    errorTagId: null,
    classifierSource: 'RULE',
    confidence: null,
    provider: null,
    alignmentSummary: null,
    traceId: message.trace_id,
  }
  const attempt = withReading(stores, blank, message)
  if (stores.attempts.add(attempt)) return attempt
  // Another delivery of the same message was faster.
  return stores.attempts.ofSubmission(submissionId) ?? attempt
}

/** The attempt with the text of its photo, classified again. */
function withReading(stores: Stores, attempt: Attempt, message: AttemptReprocessMessage): Attempt {
  const { latex_steps, provider, confidence, alignment_summary, trace_id } = message
  const verdict = classifyAttempt(statementFor(stores, attempt), latex_steps)
  // The comparison with the solution is more precise than the rules.
  const isCorrect = alignment_summary ? alignment_summary.score_0_1 === 1 : verdict.isCorrect
  const { errorCode } = verdict
  return {
    ...attempt,
    latexSteps: latex_steps,
    isCorrect,
    errorTagId: isCorrect || errorCode === null ? null : errorTagId(errorCode),
    classifierSource: 'RULE',
    confidence,
    provider,
    alignmentSummary: alignment_summary ?? null,
    traceId: trace_id,
  }
}
