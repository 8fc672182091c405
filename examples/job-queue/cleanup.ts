/**
 * What a day has left behind and nobody needs. A schedule enqueues it every night at three, once, however many
 * processes run. The history of jobs stays as it is.
 */
import { readdir, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import type { CleanUp, JobQueueMill } from './app.ts'
import { partialSuffix } from './services/documents-service.ts'
import type { Services } from './services/services.ts'

const dayMs = 86_400_000
/** One run removes at most so many dead letters, and the next goes on. */
const deadLettersMax = 1_000
const batch = 100

export interface CleanupSetup {
  readonly mill: Pick<JobQueueMill, 'queues'>
  readonly services: Pick<Services, 'documents' | 'events'>
  /** How many of the newest dead letters may stay, if they are younger than a day. */
  readonly deadLettersKept: number
}

export interface CleanedUp {
  readonly dead_letters: number
  readonly partial_uploads: number
  readonly events: number
}

/** The handler: `at` is the moment for which it was scheduled. */
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
    // The oldest come first: after one that stays, all stay.
    if (gone < batch || removed >= deadLettersMax) return removed
  }
}

/** Uploads whose connection was cut off. */
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
