/** Attempts: what a student wrote, and what is known about it. */

import type { Database, Row } from '../../../shared/database.ts'
import type { AttemptReprocessMessage, ClassifierSource } from '../messages.ts'

export type InputMode = 'KEYBOARD' | 'PHOTO' | 'PHOTO_GUIDE'

export type AlignmentSummary = NonNullable<AttemptReprocessMessage['alignment_summary']>

export interface Attempt {
  readonly id: string
  readonly studentId: string
  readonly exerciseId: string | null
  readonly guideQuestionId: string | null
  readonly guideSubmissionId: string | null
  readonly inputMode: InputMode
  readonly latexSteps: readonly string[]
  readonly isCorrect: boolean
  readonly errorTagId: string | null
  readonly classifierSource: ClassifierSource
  /** How sure the reader of the photo or the model was; null for what was typed and ruled. */
  readonly confidence: number | null
  readonly provider: string | null
  readonly alignmentSummary: AlignmentSummary | null
  /** Of the request or message that changed it last. */
  readonly traceId: string
}

export interface Attempts {
  get(id: string): Attempt | undefined
  ofSubmission(guideSubmissionId: string): Attempt | undefined
  /** False, and nothing changed, when there is one of this id, or of its submission. */
  add(attempt: Attempt): boolean
  /** False when there is none of this id. */
  replace(attempt: Attempt): boolean
  /** False, and nothing changed, when somebody has classified it already. */
  classify(id: string, as: Classification): boolean
}

export interface Classification {
  readonly errorTagId: string
  readonly classifierSource: ClassifierSource
  readonly confidence: number
}

const columns = [
  'student_id',
  'exercise_id',
  'guide_question_id',
  'guide_submission_id',
  'input_mode',
  'latex_steps',
  'is_correct',
  'error_tag_id',
  'classifier_source',
  'confidence',
  'provider',
  'alignment_summary',
  'trace_id',
] as const

const add = `
  INSERT INTO attempt (${columns.join(', ')}, id) VALUES (${columns.map(() => '?').join(', ')}, ?)
  ON CONFLICT DO NOTHING`

const replace = `UPDATE attempt SET ${columns.map((name) => `${name} = ?`).join(', ')} WHERE id = ?`

/** A classification that came first stays: a message that is delivered twice must not undo it. */
const classify = `
  UPDATE attempt SET error_tag_id = ?, classifier_source = ?, confidence = ?
  WHERE id = ? AND error_tag_id IS NULL AND is_correct = 0`

export function attemptsIn(database: Database): Attempts {
  return {
    get: (id) => toAttempt(database.get('SELECT * FROM attempt WHERE id = ?', id)),
    ofSubmission: (id) =>
      toAttempt(database.get('SELECT * FROM attempt WHERE guide_submission_id = ?', id)),
    add: (attempt) => database.run(add, ...valuesOf(attempt)) === 1,
    replace: (attempt) => database.run(replace, ...valuesOf(attempt)) === 1,
    classify: (id, { errorTagId, classifierSource, confidence }) =>
      database.run(classify, errorTagId, classifierSource, confidence, id) === 1,
  }
}

/** In the order of the columns, with the id last. */
function valuesOf(attempt: Attempt): readonly (string | number | null)[] {
  return [
    attempt.studentId,
    attempt.exerciseId,
    attempt.guideQuestionId,
    attempt.guideSubmissionId,
    attempt.inputMode,
    JSON.stringify(attempt.latexSteps),
    Number(attempt.isCorrect),
    attempt.errorTagId,
    attempt.classifierSource,
    attempt.confidence,
    attempt.provider,
    attempt.alignmentSummary && JSON.stringify(attempt.alignmentSummary),
    attempt.traceId,
    attempt.id,
  ]
}

function toAttempt(row: Row | undefined): Attempt | undefined {
  if (row === undefined) return undefined
  // The table is written by the statements above alone.
  return {
    id: row['id'],
    studentId: row['student_id'],
    exerciseId: row['exercise_id'],
    guideQuestionId: row['guide_question_id'],
    guideSubmissionId: row['guide_submission_id'],
    inputMode: row['input_mode'],
    latexSteps: JSON.parse(String(row['latex_steps'])),
    isCorrect: row['is_correct'] === 1,
    errorTagId: row['error_tag_id'],
    classifierSource: row['classifier_source'],
    confidence: row['confidence'],
    provider: row['provider'],
    alignmentSummary: JSON.parse(String(row['alignment_summary'])),
    traceId: row['trace_id'],
  } as Attempt
}
