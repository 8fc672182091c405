/** Stores notifications of users. A job creates at most one, even if it runs again. */
import type { Database } from '../../shared/database.ts'

export interface Notification {
  readonly id: number
  readonly kind: string
  readonly entityId: string | null
  readonly createdAt: number
  readonly readAt: number | null
}

export interface NewNotification {
  readonly jobId: string
  readonly userId: string
  readonly kind: string
  readonly entityId?: string | undefined
}

export class NotificationsService {
  readonly #database: Database

  constructor(database: Database) {
    this.#database = database
  }

  /** Returns false if this job already created it. */
  create({ jobId, userId, kind, entityId }: NewNotification): boolean {
    const sql = `INSERT INTO notification (job_id, user_id, kind, entity_id, created_at)
      VALUES (?, ?, ?, ?, ?) ON CONFLICT (job_id) DO NOTHING`
    return this.#database.run(sql, jobId, userId, kind, entityId ?? null, Date.now()) === 1
  }

  /** Newest first. */
  listOf(userId: string): readonly Notification[] {
    const sql = `SELECT id, kind, entity_id AS entityId, created_at AS createdAt, read_at AS readAt
      FROM notification WHERE user_id = ? ORDER BY id DESC LIMIT 100`
    return this.#database.all<Notification>(sql, userId)
  }

  /** False if the user has no such notification. */
  markRead({ id, userId }: { readonly id: number; readonly userId: string }): boolean {
    const sql = 'UPDATE notification SET read_at = ? WHERE id = ? AND user_id = ?'
    return this.#database.run(sql, Date.now(), id, userId) === 1
  }
}
