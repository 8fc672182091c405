/**
 * The tasks of the engine, one per queue. Each checks its message itself, because engine and backend are deployed
 * separately. Each resolves to one line for the log.
 */
import { z } from 'zod'
import { alignSteps } from './align-steps.ts'
import type { Bucket } from './bucket.ts'
import type { EngineDatabase } from './engine-database.ts'
import { extractQuestions } from './extract-questions.ts'
import { makeExercises } from './make-exercises.ts'
import { pdfText } from './pdf-text.ts'
import type { PhotoReader } from './read-photo.ts'
import { solveQuestion } from './solve-question.ts'

export interface TaskParts {
  readonly database: EngineDatabase
  readonly bucket: Bucket
  readonly reader: PhotoReader
  /** Sends to the backend's attempt-reprocess-queue. */
  readonly reprocess: (message: object) => Promise<void>
}

export type Task = (parts: TaskParts, body: unknown) => Promise<string>

const Ingest = z.object({ guide_id: z.string(), source_pdf_key: z.string() })

export const ingestGuide: Task = async ({ database, bucket }, body) => {
  const { guide_id, source_pdf_key } = Ingest.parse(body)
  const questions = extractQuestions(pdfText(await bucket.read(source_pdf_key)))
  if (questions.length === 0) throw new Error('The guide has no readable question.')
  database.saveQuestions(guide_id, questions)
  return `${questions.length} questions in guide ${short(guide_id)}`
}

const Generation = z.object({
  guide_id: z.string(),
  guide_question_id: z.string().nullable(),
  trace_id: z.string(),
})

export const generateSolutions: Task = async ({ database }, body) => {
  const { guide_id, guide_question_id, trace_id } = Generation.parse(body)
  const questions = database.questions(guide_id, guide_question_id)
  if (questions.length === 0) throw new Error('The guide does not have this question.')
  for (const { id, statement } of questions) {
    database.saveSolution(id, trace_id, solveQuestion(statement))
  }
  return `${questions.length} solutions for guide ${short(guide_id)}`
}

const Grading = z.object({
  guide_submission_id: z.string(),
  guide_question_id: z.string(),
  solution_version: z.int(),
  photo_keys: z.array(z.string()).min(1).max(3),
  trace_id: z.string(),
})

export const gradeSubmission: Task = async ({ database, bucket, reader, reprocess }, body) => {
  const message = Grading.parse(body)
  const { guide_submission_id, guide_question_id, solution_version, trace_id } = message
  const question = database.question(guide_question_id)
  const solution = database.solution(guide_question_id, solution_version)
  if (question === undefined || solution === undefined)
    throw new Error('The solution does not exist.')
  const pages = await Promise.all(
    message.photo_keys.map(async (key) => reader.read(await bucket.read(key))),
  )
  const lines = pages.flatMap((page) => page.lines)
  const alignment = alignSteps({ statement: question.statement, solution, lines })
  await reprocess({
    attempt_id: null,
    latex_steps: lines,
    provider: reader.name,
    confidence: Math.min(...pages.map(({ confidence }) => confidence)),
    trace_id,
    guide_submission_id,
    guide_question_id,
    alignment_summary: alignment,
  })
  return `submission ${short(guide_submission_id)} graded ${alignment.score_0_1} (${alignment.path})`
}

const Photo = z.object({ attempt_id: z.string(), photo_key: z.string(), trace_id: z.string() })

/** The OCR adapter. It sends the older message format: an attempt and the text of its photo. */
export const readAttemptPhoto: Task = async ({ bucket, reader, reprocess }, body) => {
  const { attempt_id, photo_key, trace_id } = Photo.parse(body)
  const { lines, confidence } = await reader.read(await bucket.read(photo_key))
  await reprocess({ attempt_id, latex_steps: lines, provider: reader.name, confidence, trace_id })
  return `${lines.length} lines read for attempt ${short(attempt_id)}`
}

const Order = z.object({
  subdomain_code: z.string(),
  grade_level: z.int(),
  target_error_codes: z.array(z.string()).min(1),
  count: z.int().min(1).max(50),
  trace_id: z.string(),
})

export const generateExercises: Task = async ({ database }, body) => {
  const { subdomain_code, grade_level, target_error_codes, count, trace_id } = Order.parse(body)
  const made = makeExercises({ seed: trace_id, errorCodes: target_error_codes, count })
  database.saveExercises(
    trace_id,
    made.map(({ statement, errorCode }) => ({
      statement,
      subdomainCode: subdomain_code,
      gradeLevel: grade_level,
      targetErrorCode: errorCode,
    })),
  )
  return `${made.length} exercises for ${target_error_codes.join(', ')}`
}

function short(id: string): string {
  return id.slice(0, 8)
}
