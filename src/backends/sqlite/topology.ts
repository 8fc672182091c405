/**
 * The queues of a store as one process sees them. Settings are read by nearly every operation and
 * change rarely, so they are cached until the store's topology version moves on.
 */
import type { DatabaseSync, StatementSync } from 'node:sqlite'
import { MillraceError } from '../../core/millrace-error.ts'
import type { QueueRecord, QueueSettings } from '../backend.ts'

export interface Queue {
  readonly id: number
  readonly name: string
  readonly generation: number
  readonly settings: QueueSettings
  readonly tags: Readonly<Record<string, string>>
  readonly createdAt: number
  readonly changedAt: number
  readonly purgedAt: number | null
}

export class Topology {
  readonly #byName: StatementSync
  readonly #cache = new Map<string, Queue>()
  #version = 0

  constructor(db: DatabaseSync) {
    this.#byName = db.prepare('SELECT * FROM queue WHERE name = ?')
  }

  /** Forgets what was cached under another version of the topology. */
  follow(version: number): void {
    if (version === this.#version) return
    this.#cache.clear()
    this.#version = version
  }

  forget(): void {
    this.#cache.clear()
  }

  find(name: string): Queue | undefined {
    const cached = this.#cache.get(name)
    if (cached !== undefined) return cached
    const row = this.#byName.get(name)
    if (row === undefined) return undefined
    const queue = queueFromRow(row)
    this.#cache.set(name, queue)
    return queue
  }

  require(name: string): Queue {
    const queue = this.find(name)
    if (queue === undefined) throw queueNotFound(name)
    return queue
  }
}

export function queueNotFound(name: unknown): MillraceError {
  const shown = typeof name === 'string' ? name.slice(0, 80) : typeof name
  return new MillraceError('queue_not_found', { message: `The queue '${shown}' does not exist.` })
}

export function queueFromRow(row: Readonly<Record<string, unknown>>): Queue {
  return {
    id: Number(row['id']),
    name: String(row['name']),
    generation: Number(row['generation']),
    settings: JSON.parse(String(row['settings'])),
    tags: JSON.parse(String(row['tags'])),
    createdAt: Number(row['created_at']),
    changedAt: Number(row['changed_at']),
    purgedAt: row['purged_at'] === null ? null : Number(row['purged_at']),
  }
}

export function queueRecord({ name, settings, tags, createdAt, changedAt }: Queue): QueueRecord {
  return { name, settings, tags, createdAt, changedAt }
}
