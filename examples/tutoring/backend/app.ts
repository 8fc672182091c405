/**
 * The queues of the tutoring system as one typed value. serverless.yml declares the same queues for AWS
 * and for `millrace up`; a test holds the two against each other. What a template has no word for is
 * said here alone: contracts, kill switches, and that no body may carry personal data.
 */
import { dead, defineApp, fifo, queue } from 'millrace'
import * as messages from './messages.ts'

const day = { retention: '24h', noPersonalData: true } as const
const deadLetters = queue({ retention: '14d' })

export const tutoring = defineApp('innova-backend-serverless', {
  queues: {
    attemptStream: fifo({
      ...day,
      message: messages.AttemptStreamMessage,
      visibilityTimeout: '60s',
      deduplication: 'content',
    }),
    llmClassifyQueue: queue({
      ...day,
      message: messages.LlmClassifyMessage,
      visibilityTimeout: '360s',
      deadLetter: { after: 3, queue: 'llmClassifyDlq' },
      obeys: 'LLM_PAUSED',
    }),
    // Without dead letters, as in the document: OCR_PAUSED makes its messages wait.
    ocrQueue: queue({
      ...day,
      message: messages.OcrMessage,
      visibilityTimeout: '60s',
      obeys: 'OCR_PAUSED',
    }),
    attemptReprocessQueue: queue({
      ...day,
      message: messages.AttemptReprocessMessage,
      visibilityTimeout: '60s',
      deadLetter: { after: 5, queue: 'attemptReprocessDlq' },
    }),
    guideIngestQueue: queue({
      ...day,
      message: messages.GuideIngestMessage,
      visibilityTimeout: '900s',
      deadLetter: { after: 3, queue: 'guideIngestDlq' },
      obeys: 'LLM_PAUSED',
    }),
    solutionGenerationQueue: queue({
      ...day,
      message: messages.SolutionGenMessage,
      visibilityTimeout: '900s',
      deadLetter: { after: 3, queue: 'solutionGenerationDlq' },
      obeys: 'LLM_PAUSED',
    }),
    submissionGradeQueue: queue({
      ...day,
      message: messages.SubmissionGradeMessage,
      visibilityTimeout: '180s',
      deadLetter: { after: 3, queue: 'submissionGradeDlq' },
      obeys: 'OCR_PAUSED',
    }),
    exerciseGenerateQueue: queue({
      ...day,
      message: messages.ExerciseGenerateMessage,
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
  alarms: [
    'llmClassifyQueue',
    'attemptReprocessQueue',
    'guideIngestQueue',
    'solutionGenerationQueue',
    'submissionGradeQueue',
    'exerciseGenerateQueue',
  ].map((queue) => dead(queue).above(0)),
})
