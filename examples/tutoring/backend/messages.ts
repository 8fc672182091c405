/**
 * The messages of each queue. Field names, null and optional fields are as specified. The schemas add limits on
 * length and size.
 */
import { z } from 'zod'

const id = z.uuid()
const traceId = z.string().min(1).max(128)
const latexSteps = z.array(z.string().max(300)).max(60)
const errorCode = z.string().regex(/^[A-Z][A-Z0-9_]{2,63}$/)

/** A path in the bucket that stays inside it, without characters that are special in a shell or a URL. */
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

/** api to the AI engine: a guide was approved, or a solution is to be generated again. */
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
 * The AI engine to attemptReprocessWorker, in two formats. The older one corrects an existing attempt. The newer
 * one has a `guide_submission_id` and creates an attempt.
 */
export const AttemptReprocessMessage = z
  .strictObject({
    attempt_id: id.nullable(),
    latex_steps: latexSteps,
    /** "gemini", "anthropic" or another reader of the photo. */
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

/** api to the OCR adapter. The specification defines no schema for this queue. */
export const OcrMessage = z.strictObject({
  attempt_id: id,
  photo_key: objectKey,
  trace_id: traceId,
})
export type OcrMessage = z.infer<typeof OcrMessage>
