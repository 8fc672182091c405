/** Attempts: what a student wrote, and its classification. */

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
  /** The confidence of the photo reader or the model; null for typed work that a rule classified. */
  readonly confidence: number | null
  readonly provider: string | null
  readonly alignmentSummary: AlignmentSummary | null
  /** The trace of the last change. */
  readonly traceId: string
}

export interface Attempts {
  get(id: string): Attempt | undefined
  ofSubmission(guideSubmissionId: string): Attempt | undefined
  /** False, without a change, if the id or its submission already exists. */
  add(attempt: Attempt): boolean
  /** False if the id does not exist. */
  replace(attempt: Attempt): boolean
  /** False, without a change, if it is already classified. */
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

/** An earlier classification is kept: a redelivered message must not undo it. */
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
  // Only the statements above write this table, so the types are known.
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
