/**
 * Courses and their progress. Each change and the event that reports it to browsers are one transaction. All
 * changes are idempotent.
 */
import { randomUUID } from 'node:crypto'
import type { Database } from '../../shared/database.ts'
import type { Lesson, ModuleOutline, Question } from './ai-provider.ts'
import type { RealtimeEvents } from './realtime-events.ts'

export type CourseStatus = 'generating' | 'completed' | 'failed' | 'failed_insufficient_credits'

export interface Course {
  readonly id: string
  readonly owner: string
  readonly topic: string
  readonly moduleCount: number
  readonly status: CourseStatus
}

/** JSON; null until it is written. */
export interface CourseModule {
  readonly id: string
  readonly position: number
  readonly title: string
  readonly lessons: string | null
  readonly exam: string | null
}

export const courseRoom = (courseId: string): string => `course:${courseId}`

export class CoursesService {
  readonly #database: Database
  readonly #events: RealtimeEvents

  constructor(database: Database, events: RealtimeEvents) {
    this.#database = database
    this.#events = events
  }

  create({ owner, topic, modules }: { owner: string; topic: string; modules: number }): string {
    const id = randomUUID()
    const sql = `INSERT INTO course (id, owner, topic, module_count, status, created_at)
      VALUES (?, ?, ?, ?, 'generating', ?)`
    this.#database.run(sql, id, owner, topic, modules, Date.now())
    return id
  }

  find(id: string): Course | undefined {
    const sql =
      'SELECT id, owner, topic, module_count AS moduleCount, status FROM course WHERE id = ?'
    return this.#database.get<Course>(sql, id)
  }

  /** In the order of the course. */
  modulesOf(courseId: string): readonly CourseModule[] {
    const sql = `SELECT id, position, title, lessons, exam FROM course_module
      WHERE course_id = ? ORDER BY position`
    return this.#database.all<CourseModule>(sql, courseId)
  }

  finalExamOf(courseId: string): string | null {
    const sql = 'SELECT final_exam AS exam FROM course WHERE id = ?'
    return this.#database.get<{ exam: string | null }>(sql, courseId)?.exam ?? null
  }

  saveOutline(courseId: string, modules: readonly ModuleOutline[]): void {
    this.#advance(courseId, `outline:${courseId}`, () => {
      for (const [index, { title }] of modules.entries()) {
        const id = `${courseId}-${index + 1}`
        const sql =
          'INSERT OR IGNORE INTO course_module (id, course_id, position, title) VALUES (?, ?, ?, ?)'
        this.#database.run(sql, id, courseId, index + 1, title)
      }
    })
  }

  saveLessons(courseId: string, moduleId: string, lessons: readonly Lesson[]): void {
    this.#advance(courseId, `module_lessons:${moduleId}`, () => {
      const sql = 'UPDATE course_module SET lessons = ? WHERE id = ?'
      this.#database.run(sql, JSON.stringify(lessons), moduleId)
    })
  }

  saveExam(courseId: string, moduleId: string, exam: readonly Question[]): void {
    this.#advance(courseId, `module_exam:${moduleId}`, () => {
      const sql = 'UPDATE course_module SET exam = ? WHERE id = ?'
      this.#database.run(sql, JSON.stringify(exam), moduleId)
    })
  }

  saveFinalExam(courseId: string, exam: readonly Question[]): void {
    this.#advance(courseId, `final_exam:${courseId}`, () => {
      const sql = 'UPDATE course SET final_exam = ? WHERE id = ?'
      this.#database.run(sql, JSON.stringify(exam), courseId)
    })
  }

  /** Ends a course. Does nothing if it has already ended. */
  end(courseId: string, status: Exclude<CourseStatus, 'generating'>, mastery?: string): void {
    this.#database.transaction(() => {
      const sql = "UPDATE course SET status = ?, mastery = ? WHERE id = ? AND status = 'generating'"
      if (this.#database.run(sql, status, mastery ?? null, courseId) === 0) return
      this.#events.publish({
        key: `end:${courseId}`,
        room: courseRoom(courseId),
        name: status === 'completed' ? 'course_completed' : 'course_failed',
        data: { course_id: courseId, status },
      })
    })
  }

  #advance(courseId: string, step: string, write: () => void): void {
    this.#database.transaction(() => {
      write()
      this.#events.publish({
        key: step,
        room: courseRoom(courseId),
        name: 'course_progress',
        data: { course_id: courseId, step: step.slice(0, step.indexOf(':')) },
      })
    })
  }
}
