/**
 * The queues of the tutoring system. serverless.yml declares the same queues for AWS and for `millrace up`, and a
 * test compares the two. Only this file declares what a template cannot: schemas, kill switches, the budget that
 * turns one on, and that no message may contain personal data.
 */
import { alarm, defineApp, fifo, queue } from 'millrace'
import * as messages from './messages.ts'

/** The model's budget per day. All processes of a deployment must have the same number. */
const tokensPerDay = Number(process.env['LLM_TOKENS_PER_DAY'] || 2_000_000)

const day = { retention: '24h', noPersonalData: true } as const
const deadLetters = queue({ retention: '14d' })

export const tutoring = defineApp('innova-backend-serverless', {
  queues: {
    attemptStream: fifo({
      ...day,
      schema: messages.AttemptStreamMessage,
      visibilityTimeout: '60s',
      deduplication: 'content',
    }),
    llmClassifyQueue: queue({
      ...day,
      schema: messages.LlmClassifyMessage,
      visibilityTimeout: '360s',
      deadLetter: { after: 3, queue: 'llmClassifyDlq' },
      obeys: 'LLM_PAUSED',
    }),
    // Without a dead-letter queue, as specified: OCR_PAUSED holds its messages.
    ocrQueue: queue({
      ...day,
      schema: messages.OcrMessage,
      visibilityTimeout: '60s',
      obeys: 'OCR_PAUSED',
    }),
    attemptReprocessQueue: queue({
      ...day,
      schema: messages.AttemptReprocessMessage,
      visibilityTimeout: '60s',
      deadLetter: { after: 5, queue: 'attemptReprocessDlq' },
    }),
    guideIngestQueue: queue({
      ...day,
      schema: messages.GuideIngestMessage,
      visibilityTimeout: '900s',
      deadLetter: { after: 3, queue: 'guideIngestDlq' },
      obeys: 'LLM_PAUSED',
    }),
    solutionGenerationQueue: queue({
      ...day,
      schema: messages.SolutionGenMessage,
      visibilityTimeout: '900s',
      deadLetter: { after: 3, queue: 'solutionGenerationDlq' },
      obeys: 'LLM_PAUSED',
    }),
    submissionGradeQueue: queue({
      ...day,
      schema: messages.SubmissionGradeMessage,
      visibilityTimeout: '180s',
      deadLetter: { after: 3, queue: 'submissionGradeDlq' },
      obeys: 'OCR_PAUSED',
    }),
    exerciseGenerateQueue: queue({
      ...day,
      schema: messages.ExerciseGenerateMessage,
      visibilityTimeout: '360s',
      deadLetter: { after: 3, queue: 'exerciseGenerateDlq' },
      obeys: 'LLM_PAUSED',
    }),
    llmClassifyDlq: deadLetters,
    attemptReprocessDlq: deadLetters,
    guideIngestDlq: deadLetters,
    solutionGenerationDlq: deadLetters,
    submissionGradeDlq: deadLetters,
    exerciseGenerateDlq: deadLetters,
  },
  // Above the limit, messages are diverted to the dead-letter queue, as specified.
  budgets: { llm: { limit: tokensPerDay, per: '1d', trips: 'LLM_PAUSED', mode: 'divert' } },
  alarms: [
    'llmClassifyQueue',
    'attemptReprocessQueue',
    'guideIngestQueue',
    'solutionGenerationQueue',
    'submissionGradeQueue',
    'exerciseGenerateQueue',
  ].map((queue) => alarm.dead(queue).above(0)),
})
