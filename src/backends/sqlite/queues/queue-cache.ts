/**
 * The queues of a store as one process sees them. Settings are read by nearly every operation and
 * change rarely, so they are cached until the store's queues version moves on.
 */

import { MillraceError } from '../../../core/millrace-error.ts'
import { defaultQueueSettings } from '../../../core/queue-settings.ts'
import type { QueueRecord, QueueSettings } from '../../backend.ts'
import { query, type Statements } from '../driver/statements.ts'
import { SwitchCache } from '../switches/switch-cache.ts'

export interface Queue {
  readonly id: number
  readonly name: string
  readonly generation: number
  readonly settings: QueueSettings
  readonly tags: Readonly<Record<string, string>>
  readonly createdAt: number
  readonly changedAt: number
  readonly purgedAt: number | null
  /** Some ceiling is set. */
  readonly isLimited: boolean
  /** There is a ceiling on what runs at once, so leases are counted. */
  readonly countsRunning: boolean
  /** From this sequence number on, its plain messages have their own expiry. */
  readonly ownExpiryFrom: number
}

const byName = query<Readonly<Record<string, unknown>>>('SELECT * FROM queue WHERE name = ?')

export class QueueCache {
  /** Kept here because the two change under the same version. */
  readonly switches: SwitchCache
  readonly #statements: Statements
  readonly #cache = new Map<string, Queue>()
  #version = 0

  constructor(statements: Statements) {
    this.switches = new SwitchCache(statements)
    this.#statements = statements
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
    this.switches.forget()
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

export function queueNotFound(name: unknown): MillraceError {
  const shown = typeof name === 'string' ? name.slice(0, 80) : typeof name
  return new MillraceError('queue_not_found', { message: `The queue '${shown}' does not exist.` })
}

export function queueFromRow(row: Readonly<Record<string, unknown>>): Queue {
  const stored: Partial<QueueSettings> = JSON.parse(String(row['settings']))
  // Older stores do not have every setting that there is now.
  const settings = {
    ...defaultQueueSettings,
    ...stored,
    ceilings: { ...defaultQueueSettings.ceilings, ...stored.ceilings },
  } as QueueSettings
  const { running, runningPerTenant, runningPerType, rate, perKey } = settings.ceilings
  const countsRunning =
    running !== null ||
    runningPerTenant !== null ||
    Object.keys(runningPerType).length > 0 ||
    perKey.some((one) => one.running !== null)
  return {
    id: Number(row['id']),
    name: String(row['name']),
    generation: Number(row['generation']),
    settings,
    tags: JSON.parse(String(row['tags'])),
    createdAt: Number(row['created_at']),
    changedAt: Number(row['changed_at']),
    purgedAt: row['purged_at'] === null ? null : Number(row['purged_at']),
    isLimited: countsRunning || rate !== null || perKey.length > 0,
    countsRunning,
    ownExpiryFrom: Number(row['own_expiry_from'] ?? Number.MAX_SAFE_INTEGER),
  }
}

export function queueRecord({ name, settings, tags, createdAt, changedAt }: Queue): QueueRecord {
  return { name, settings, tags, createdAt, changedAt }
}
