/**
 * What is said on each queue. The field names, and which of them may be null or missing, are those of
 * the document that the example follows; the schemas add how long and how large a value may be.
 */
import { z } from 'zod'

const id = z.uuid()
const traceId = z.string().min(1).max(128)
const latexSteps = z.array(z.string().max(300)).max(60)
const errorCode = z.string().regex(/^[A-Z][A-Z0-9_]{2,63}$/)

/** A path in the bucket: no way out of it, and nothing that a shell or a URL would take apart. */
export const objectKey = z
  .string()
  .max(512)
  .regex(/^(?:[A-Za-z0-9_@+-][A-Za-z0-9._@+-]*\/)*[A-Za-z0-9_@+-][A-Za-z0-9._@+-]*$/)

export const classifierSources = ['RULE', 'LLM', 'HUMAN'] as const
export type ClassifierSource = (typeof classifierSources)[number]

/** api to telemetryWorker, in order for each attempt. */
export const AttemptStreamMessage = z.strictObject({
  attemptId: id,
  studentId: id,
  exerciseId: id.nullable(),
  /** Null while the attempt is unclassified. */
  errorTagId: id.nullable(),
  classifierSource: z.enum(classifierSources),
  isCorrect: z.boolean(),
  traceId,
})
export type AttemptStreamMessage = z.infer<typeof AttemptStreamMessage>

/** api to llmClassifierWorker, for what the rule engine cannot classify. */
export const LlmClassifyMessage = z.strictObject({ attemptId: id, traceId })
export type LlmClassifyMessage = z.infer<typeof LlmClassifyMessage>

/** api to the AI engine: a teacher's PDF is in the bucket. */
export const GuideIngestMessage = z.strictObject({
  guide_id: id,
  source_pdf_key: objectKey.startsWith('guides/uploads/'),
  course_grade_level: z.int().min(1).max(12),
  trace_id: traceId,
})
export type GuideIngestMessage = z.infer<typeof GuideIngestMessage>

/** api to the AI engine: a guide was approved, or a solution is to be made anew. */
export const SolutionGenMessage = z.strictObject({
  guide_id: id,
  /** Null: every question of the guide. */
  guide_question_id: id.nullable(),
  trace_id: traceId,
})
export type SolutionGenMessage = z.infer<typeof SolutionGenMessage>

/** api to the AI engine: a student has photographed an answer. */
export const SubmissionGradeMessage = z.strictObject({
  guide_submission_id: id,
  guide_question_id: id,
  solution_version: z.int().min(1),
  photo_keys: z.array(objectKey).min(1).max(3),
  trace_id: traceId,
})
export type SubmissionGradeMessage = z.infer<typeof SubmissionGradeMessage>

/** api to the AI engine: new exercises for certain mistakes. */
export const ExerciseGenerateMessage = z.strictObject({
  subdomain_code: errorCode,
  grade_level: z.int().min(1).max(12),
  target_error_codes: z.array(errorCode).min(1).max(20),
  count: z.int().min(1).max(50),
  trace_id: traceId,
})
export type ExerciseGenerateMessage = z.infer<typeof ExerciseGenerateMessage>

/**
 * The AI engine to attemptReprocessWorker, in two generations: the older one corrects an attempt that
 * exists, the newer one, told by `guide_submission_id`, brings a new attempt into being.
 */
export const AttemptReprocessMessage = z
  .strictObject({
    attempt_id: id.nullable(),
    latex_steps: latexSteps,
    /** "gemini" or "anthropic", or whoever else has read the photo. */
    provider: z.string().regex(/^[a-z0-9._-]{1,64}$/),
    confidence: z.number().min(0).max(1),
    trace_id: traceId,
    guide_submission_id: id.optional(),
    guide_question_id: id.optional(),
    alignment_summary: z
      .strictObject({
        path: z.string().max(64),
        first_error_checkpoint: z.int().min(0).nullable(),
        score_0_1: z.number().min(0).max(1),
      })
      .optional(),
  })
  .refine(
    ({ attempt_id, guide_submission_id }) =>
      attempt_id !== null || guide_submission_id !== undefined,
    { error: 'an attempt_id or a guide_submission_id', path: ['attempt_id'] },
  )
export type AttemptReprocessMessage = z.infer<typeof AttemptReprocessMessage>

/** api to the OCR adapter. The document gives this queue no contract; this one is the example's own. */
export const OcrMessage = z.strictObject({
  attempt_id: id,
  photo_key: objectKey,
  trace_id: traceId,
})
export type OcrMessage = z.infer<typeof OcrMessage>
