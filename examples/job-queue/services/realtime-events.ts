/**
 * Events for browsers, written in the transaction that makes them true and read by every API
 * process. A table rather than a queue, since each process has browsers of its own: a message of a
 * queue would reach one process only, and the browsers of the others would miss it.
 */
import type { Database } from '../../shared/database.ts'

export interface NewEvent {
  /** What happened: a second event of the same key is dropped. */
  readonly key: string
  readonly room: string
  readonly name: string
  readonly data: Readonly<Record<string, string | number | null>>
}

export interface RealtimeEvent extends Omit<NewEvent, 'key'> {
  /** Rises with every event. */
  readonly id: number
}

interface Row extends Omit<RealtimeEvent, 'data'> {
  readonly data: string
}

export class RealtimeEvents {
  readonly #database: Database

  constructor(database: Database) {
    this.#database = database
  }

  publish({ key, room, name, data }: NewEvent): void {
    const sql = `INSERT INTO realtime_event (key, room, name, data, created_at)
      VALUES (?, ?, ?, ?, ?) ON CONFLICT (key) DO NOTHING`
    this.#database.run(sql, key, room, name, JSON.stringify(data), Date.now())
  }

  /** The id of the newest event, or 0. */
  latest(): number {
    const sql = 'SELECT seq FROM sqlite_sequence WHERE name = ?'
    return this.#database.get<{ seq: number }>(sql, 'realtime_event')?.seq ?? 0
  }

  /** In order, at most 1,000. */
  after(id: number): readonly RealtimeEvent[] {
    const sql =
      'SELECT id, room, name, data FROM realtime_event WHERE id > ? ORDER BY id LIMIT 1000'
    return this.#database.all<Row>(sql, id).map(eventOf)
  }

  /** Those of one room that a browser has missed. */
  missed(request: { room: string; after: number; upTo: number }): readonly RealtimeEvent[] {
    const sql = `SELECT id, room, name, data FROM realtime_event
      WHERE room = ? AND id > ? AND id <= ? ORDER BY id`
    return this.#database.all<Row>(sql, request.room, request.after, request.upTo).map(eventOf)
  }

  /** How many were deleted. */
  deleteBefore(time: number): number {
    return this.#database.run('DELETE FROM realtime_event WHERE created_at < ?', time)
  }
}

function eventOf({ data, ...row }: Row): RealtimeEvent {
  return { ...row, data: JSON.parse(data) }
}
