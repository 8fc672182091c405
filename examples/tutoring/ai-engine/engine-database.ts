/**
 * The rows that the AI engine reads and writes in the backend's database. The backend creates the tables. Ids are
 * hashes of what a row is about, so a repeated message writes nothing twice.
 */
import { createHash } from 'node:crypto'
import { Database, type Row } from '../../shared/database.ts'

export interface Question {
  readonly id: string
  readonly statement: string
}

export interface NewExercise {
  readonly statement: string
  readonly subdomainCode: string
  readonly gradeLevel: number
  readonly targetErrorCode: string
}

export interface EngineDatabase extends Disposable {
  saveQuestions(guideId: string, statements: readonly string[]): void
  /** All questions of a guide, or one of them. */
  questions(guideId: string, questionId: string | null): readonly Question[]
  question(id: string): Question | undefined
  /** Adds a new version, unless this trace already added one. */
  saveSolution(questionId: string, traceId: string, steps: readonly string[]): void
  solution(questionId: string, version: number): readonly string[] | undefined
  saveExercises(traceId: string, exercises: readonly NewExercise[]): void
}

export function openEngineDatabase(file: string): EngineDatabase {
  // The backend owns the tables.
  const db = new Database(file, '')
  const all = (sql: string, ...values: string[]): readonly Question[] =>
    db.all(sql, ...values).map(toQuestion)
  return {
    saveQuestions(guideId, statements) {
      for (const [index, statement] of statements.entries()) {
        const position = index + 1
        const id = idOf('question', guideId, position)
        const sql = 'INSERT INTO guide_question VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING'
        db.run(sql, id, guideId, position, statement)
      }
      // Last, so that a guide with this status has all its questions.
      db.run(`UPDATE guide SET status = 'EXTRACTED' WHERE id = ? AND status = 'INGESTING'`, guideId)
    },
    questions: (guideId, questionId) =>
      questionId === null
        ? all('SELECT * FROM guide_question WHERE guide_id = ? ORDER BY position', guideId)
        : all('SELECT * FROM guide_question WHERE guide_id = ? AND id = ?', guideId, questionId),
    question: (id) => all('SELECT * FROM guide_question WHERE id = ?', id)[0],
    saveSolution(questionId, traceId, steps) {
      // One statement, so that two simultaneous deliveries cannot create two versions.
      db.run(
        `INSERT INTO guide_solution SELECT ?, 1 + coalesce(max(version), 0), ?, ?
         FROM guide_solution WHERE guide_question_id = ? ON CONFLICT DO NOTHING`,
        ...[questionId, JSON.stringify(steps), traceId, questionId],
      )
    },
    solution(questionId, version) {
      const row = db.get(
        'SELECT latex_steps FROM guide_solution WHERE guide_question_id = ? AND version = ?',
        ...[questionId, version],
      )
      return row && JSON.parse(String(row['latex_steps']))
    },
    saveExercises(traceId, exercises) {
      for (const [index, exercise] of exercises.entries()) {
        const { statement, subdomainCode, gradeLevel, targetErrorCode } = exercise
        const id = idOf('exercise', traceId, index)
        const sql = 'INSERT INTO exercise VALUES (?, ?, ?, ?, ?) ON CONFLICT DO NOTHING'
        db.run(sql, id, statement, subdomainCode, gradeLevel, targetErrorCode)
      }
    },
    [Symbol.dispose]: () => db.close(),
  }
}

/** A UUID of version 8, derived from a hash. */
function idOf(...about: readonly (string | number)[]): string {
  const hex = createHash('sha256').update(JSON.stringify(about)).digest('hex')
  const parts = [
    hex.slice(0, 8),
    hex.slice(8, 12),
    `8${hex.slice(13, 16)}`,
    `8${hex.slice(17, 20)}`,
  ]
  return [...parts, hex.slice(20, 32)].join('-')
}

function toQuestion(row: Row): Question {
  return { id: String(row['id']), statement: String(row['statement']) }
}
