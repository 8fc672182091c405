/**
 * Removes old dead letters, interrupted uploads and events. A schedule enqueues it once every night at three,
 * across all processes. Job rows are kept.
 */
import { readdir, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import type { CleanUp, JobQueueMill } from './app.ts'
import { partialSuffix } from './services/documents-service.ts'
import type { Services } from './services/services.ts'

const dayMs = 86_400_000
/** The limit for one run; the next run continues. */
const deadLettersMax = 1_000
const batch = 100

export interface CleanupSetup {
  readonly mill: Pick<JobQueueMill, 'queues'>
  readonly services: Pick<Services, 'documents' | 'events'>
  /** How many of the newest dead letters are kept, if they are younger than a day. */
  readonly deadLettersKept: number
}

export interface CleanedUp {
  readonly dead_letters: number
  readonly partial_uploads: number
  readonly events: number
}

/** The handler. `at` is the scheduled time. */
export function cleanup(setup: CleanupSetup): (tick: CleanUp) => Promise<CleanedUp> {
  return async ({ at }) => {
    const before = Date.parse(at) - dayMs
    return {
      dead_letters: await removeDeadLetters(setup, before),
      partial_uploads: await removePartialUploads(setup, before),
      events: setup.services.events.deleteBefore(before),
    }
  }
}

async function removeDeadLetters(
  { mill, deadLettersKept }: CleanupSetup,
  before: number,
): Promise<number> {
  const { dead_letters: queue } = mill.queues
  let excess = (await queue.statistics()).ready - deadLettersKept
  let removed = 0
  for (;;) {
    const deliveries = await queue.receive({ max: batch, visibility: '1m' })
    const ends = deliveries.map(async (delivery) => {
      const isOld = (delivery.deadLetterOrigin?.at ?? delivery.sentAt) < before
      if (!isOld && excess <= 0) {
        await delivery.release()
        return false
      }
      excess -= 1
      return (await delivery.acknowledge()).status === 'settled'
    })
    const gone = (await Promise.all(ends)).filter((isGone) => isGone).length
    removed += gone
    // They are sorted from the oldest, so all after this one are kept too.
    if (gone < batch || removed >= deadLettersMax) return removed
  }
}

/** Uploads that were interrupted. */
async function removePartialUploads(
  { services: { documents } }: CleanupSetup,
  before: number,
): Promise<number> {
  const { folder } = documents
  const names = await readdir(folder).catch(() => [])
  let removed = 0
  for (const name of names.filter((one) => one.endsWith(partialSuffix))) {
    const file = join(folder, name)
    const { mtimeMs } = await stat(file).catch(() => ({ mtimeMs: Number.POSITIVE_INFINITY }))
    if (mtimeMs >= before) continue
    await rm(file, { force: true })
    removed += 1
  }
  return removed
}
