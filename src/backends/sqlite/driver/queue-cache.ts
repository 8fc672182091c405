/**
 * The queues of a store, and its kill switches, as one process sees them. Settings are read by nearly
 * every operation and change rarely, so they are cached until the store's queues version moves on.
 */
import {
  type Queue,
  type QueueRow,
  queueFromRow,
  queueNotFound,
} from '../../../engine/queues/queue.ts'
import { query } from '../../../engine/statements.ts'
import { readSwitches, Switches } from '../../../engine/switches/switches-on.ts'
import type { Statements } from './statements.ts'

const byName = query<QueueRow>('SELECT * FROM queue WHERE name = ?')

export class QueueCache {
  readonly #statements: Statements
  readonly #cache = new Map<string, Queue>()
  #switches: Switches | undefined
  #version = 0

  constructor(statements: Statements) {
    this.#statements = statements
  }

  get switches(): Switches {
    this.#switches ??= new Switches(this.#statements.all(readSwitches))
    return this.#switches
  }

  isAt(version: number): boolean {
    return version === this.#version
  }

  /** Forgets what was cached under another version of the queues. */
  follow(version: number): void {
    if (this.isAt(version)) return
    this.forget()
    this.#version = version
  }

  forget(): void {
    this.#cache.clear()
    this.#switches = undefined
  }

  find(name: string): Queue | undefined {
    const cached = this.#cache.get(name)
    if (cached !== undefined) return cached
    const row = this.#statements.one(byName, name)
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
