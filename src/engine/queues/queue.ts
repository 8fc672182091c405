/** A queue as the rules see it: its settings, and what follows from them. */

import type { QueueRecord, QueueSettings } from '../../backends/backend.ts'
import { MillraceError } from '../../core/millrace-error.ts'
import { defaultQueueSettings } from '../../core/queue-settings.ts'
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

/** A row of the table `queue`. */
export type QueueRow = Readonly<Record<string, unknown>>

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
