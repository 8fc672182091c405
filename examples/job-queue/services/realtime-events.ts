/**
 * Events for browsers, written in the transaction of the change they report. Every API process has its own
 * browsers, so this is a table that all of them read. A queue would deliver each event to one process only.
 */
import type { Database } from '../../shared/database.ts'

export interface NewEvent {
  /** Identifies the event; a second event with the same key is dropped. */
  readonly key: string
  readonly room: string
  readonly name: string
  readonly data: Readonly<Record<string, string | number | null>>
}

export interface RealtimeEvent extends Omit<NewEvent, 'key'> {
  /** Increases with every event. */
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

  /** 0 if there is none. */
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

  /** The events of one room after the given id. */
  missed(request: { room: string; after: number; upTo: number }): readonly RealtimeEvent[] {
    const sql = `SELECT id, room, name, data FROM realtime_event
      WHERE room = ? AND id > ? AND id <= ? ORDER BY id`
    return this.#database.all<Row>(sql, request.room, request.after, request.upTo).map(eventOf)
  }

  /** Returns the number of deleted events. */
  deleteBefore(time: number): number {
    return this.#database.run('DELETE FROM realtime_event WHERE created_at < ?', time)
  }
}

function eventOf({ data, ...row }: Row): RealtimeEvent {
  return { ...row, data: JSON.parse(data) }
}
