/** Exercises of the course, and those that the AI engine generated for certain mistakes. */
import type { Database, Row } from '../../../shared/database.ts'

export interface Exercise {
  readonly id: string
  /** In LaTeX: `3x + 5 = 20`, or `47 + 38`. */
  readonly statement: string
  readonly subdomainCode: string
  readonly gradeLevel: number
  readonly targetErrorCode: string | null
}

export interface Exercises {
  add(exercise: Exercise): void
  get(id: string): Exercise | undefined
  list(subdomainCode: string): readonly Exercise[]
}

export function exercisesIn(database: Database): Exercises {
  return {
    add: ({ id, statement, subdomainCode, gradeLevel, targetErrorCode }) =>
      void database.run(
        'INSERT INTO exercise VALUES (?, ?, ?, ?, ?) ON CONFLICT DO NOTHING',
        id,
        statement,
        subdomainCode,
        gradeLevel,
        targetErrorCode,
      ),
    get: (id) => {
      const row = database.get('SELECT * FROM exercise WHERE id = ?', id)
      return row && toExercise(row)
    },
    list: (subdomainCode) =>
      database
        .all(
          'SELECT * FROM exercise WHERE subdomain_code = ? ORDER BY rowid LIMIT 100',
          subdomainCode,
        )
        .map(toExercise),
  }
}

function toExercise(row: Row): Exercise {
  const { target_error_code: code } = row
  return {
    id: String(row['id']),
    statement: String(row['statement']),
    subdomainCode: String(row['subdomain_code']),
    gradeLevel: Number(row['grade_level']),
    targetErrorCode: typeof code === 'string' ? code : null,
  }
}
