/**
 * Every night at three: what a day has left behind and nobody needs. The history of jobs stays as it
 * is. Each replica may run this; a dead letter is leased before it goes, so it goes once.
 */
import { readdir, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { Cron } from 'croner'
import type { Logger } from 'millrace'
import type { JobQueueMill } from './app.ts'
import { partialSuffix } from './services/documents-service.ts'
import type { Services } from './services/services.ts'

const dayMs = 86_400_000
/** One run removes at most so many dead letters, and the next goes on. */
const deadLettersMax = 1_000
const batch = 100

export interface Time {
  now(): number
  /** Calls `run` once after `delayMs`; the answer cancels it. */
  after(delayMs: number, run: () => void): () => void
}

const machineTime: Time = {
  now: () => Date.now(),
  after(delayMs, run) {
    const timer = setTimeout(run, delayMs).unref()
    return () => clearTimeout(timer)
  },
}

export interface CleanupSetup {
  readonly mill: JobQueueMill
  readonly services: Pick<Services, 'documents' | 'events'>
  /** How many of the newest dead letters may stay, if they are younger than a day. */
  readonly deadLettersKept: number
  /** Default: the time of this machine. */
  readonly time?: Time
  readonly log: Logger
}

export interface CleanedUp {
  readonly dead_letters: number
  readonly partial_uploads: number
  readonly events: number
}

export class Cleanup {
  readonly #setup: CleanupSetup
  readonly #time: Time
  #cancel: () => void = () => undefined

  constructor(setup: CleanupSetup) {
    this.#setup = setup
    this.#time = setup.time ?? machineTime
  }

  /** Runs at the next three o'clock of this machine's time zone, and every day from then on. */
  start(): void {
    const { log } = this.#setup
    const now = this.#time.now()
    const next = new Cron('0 3 * * *').nextRun(new Date(now))?.getTime() ?? now + dayMs
    const run = (): void => {
      this.start()
      this.run().then(
        (cleaned) => log.info({ ...cleaned }, 'cleaned up'),
        () => log.error({}, 'clean-up failed'),
      )
    }
    this.#cancel = this.#time.after(next - now, run)
  }

  stop(): void {
    this.#cancel()
  }

  async run(): Promise<CleanedUp> {
    const before = this.#time.now() - dayMs
    return {
      dead_letters: await this.#removeDeadLetters(before),
      partial_uploads: await this.#removePartialUploads(before),
      events: this.#setup.services.events.deleteBefore(before),
    }
  }

  async #removeDeadLetters(before: number): Promise<number> {
    const { mill, deadLettersKept } = this.#setup
    const { dead_letters: queue } = mill.queues
    let excess = (await queue.statistics()).ready - deadLettersKept
    let removed = 0
    for (;;) {
      const deliveries = await queue.receive({ max: batch, visibility: '1m' })
      const ends = deliveries.map(async (delivery) => {
        const isOld = (delivery.deadLetter?.at ?? delivery.sentAt) < before
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
  async #removePartialUploads(before: number): Promise<number> {
    const { folder } = this.#setup.services.documents
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
}
