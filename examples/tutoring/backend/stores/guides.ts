/** Guides of teachers, their questions, solutions, and submissions of students. */
import type { Database, Row } from '../../../shared/database.ts'

/** The AI engine sets EXTRACTED after it has written the questions. */
export type GuideStatus = 'INGESTING' | 'EXTRACTED' | 'APPROVED'

export interface Guide {
  readonly id: string
  readonly teacherId: string
  readonly sourcePdfKey: string
  readonly courseGradeLevel: number
  readonly status: GuideStatus
}

export interface GuideQuestion {
  readonly id: string
  readonly guideId: string
  readonly position: number
  readonly statement: string
  /** All versions, oldest first. */
  readonly solutions: readonly GuideSolution[]
}

export interface GuideSolution {
  readonly version: number
  readonly latexSteps: readonly string[]
}

export interface GuideSubmission {
  readonly id: string
  readonly studentId: string
  readonly guideQuestionId: string
  readonly solutionVersion: number
  readonly photoKeys: readonly string[]
  readonly traceId: string
}

export interface Guides {
  add(guide: Guide): void
  get(id: string): Guide | undefined
  /** False if the guide does not exist, or has no questions yet. */
  approve(id: string): boolean
  questionsOf(guideId: string): readonly GuideQuestion[]
  question(id: string): GuideQuestion | undefined
  addSubmission(submission: GuideSubmission): void
  submission(id: string): GuideSubmission | undefined
}

export function guidesIn(database: Database): Guides {
  const withSolutions = (row: Row): GuideQuestion => {
    const id = String(row['id'])
    const solutions = database.all(
      'SELECT * FROM guide_solution WHERE guide_question_id = ? ORDER BY version',
      id,
    )
    return {
      id,
      guideId: String(row['guide_id']),
      position: Number(row['position']),
      statement: String(row['statement']),
      solutions: solutions.map(({ version, latex_steps }) => ({
        version: Number(version),
        latexSteps: textsIn(latex_steps),
      })),
    }
  }
  return {
    add: ({ id, teacherId, sourcePdfKey, courseGradeLevel, status }) =>
      void database.run(
        'INSERT INTO guide VALUES (?, ?, ?, ?, ?)',
        id,
        teacherId,
        sourcePdfKey,
        courseGradeLevel,
        status,
      ),
    get: (id) => toGuide(database.get('SELECT * FROM guide WHERE id = ?', id)),
    approve: (id) =>
      database.run(
        `UPDATE guide SET status = 'APPROVED' WHERE id = ? AND status <> 'INGESTING'`,
        id,
      ) === 1,
    questionsOf: (guideId) =>
      database
        .all('SELECT * FROM guide_question WHERE guide_id = ? ORDER BY position', guideId)
        .map(withSolutions),
    question: (id) => {
      const row = database.get('SELECT * FROM guide_question WHERE id = ?', id)
      return row && withSolutions(row)
    },
    addSubmission: ({ id, studentId, guideQuestionId, solutionVersion, photoKeys, traceId }) =>
      void database.run(
        'INSERT INTO guide_submission VALUES (?, ?, ?, ?, ?, ?)',
        id,
        studentId,
        guideQuestionId,
        solutionVersion,
        JSON.stringify(photoKeys),
        traceId,
      ),
    submission: (id) =>
      toSubmission(database.get('SELECT * FROM guide_submission WHERE id = ?', id)),
  }
}

function toGuide(row: Row | undefined): Guide | undefined {
  return (
    row && {
      id: String(row['id']),
      teacherId: String(row['teacher_id']),
      sourcePdfKey: String(row['source_pdf_key']),
      courseGradeLevel: Number(row['course_grade_level']),
      // The backend and the AI engine write only these values.
      status: row['status'] as GuideStatus,
    }
  )
}

function toSubmission(row: Row | undefined): GuideSubmission | undefined {
  return (
    row && {
      id: String(row['id']),
      studentId: String(row['student_id']),
      guideQuestionId: String(row['guide_question_id']),
      solutionVersion: Number(row['solution_version']),
      photoKeys: textsIn(row['photo_keys']),
      traceId: String(row['trace_id']),
    }
  )
}

function textsIn(json: unknown): readonly string[] {
  return JSON.parse(String(json))
}
