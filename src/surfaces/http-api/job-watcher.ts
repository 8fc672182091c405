/** Watches jobs for event streams. Reads each job once per interval, for any number of followers. */
import type { Timers } from '../../core/ports.ts'
import { isFinishedJob, type Job } from '../../jobs/job.ts'

export interface JobFollower {
  /** The job as last read, or undefined if it can no longer be followed. */
  readonly latest: Job | undefined
  /** Resolves when a reading finds a change, after `ms`, or when the signal aborts. */
  wait(ms: number, signal: AbortSignal): Promise<'changed' | 'silent'>
  leave(): void
}

export interface JobWatcherSetup {
  readonly read: (id: string) => Promise<Job | undefined>
  readonly timers: Timers
}

interface Watch {
  latest: Job | undefined
  followers: number
  readonly waiting: Set<() => void>
  cancel: () => void
}

/** Four readings per second look immediate to a person. */
export const readingMs = 250

export class JobWatcher {
  readonly #setup: JobWatcherSetup
  readonly #watches = new Map<string, Watch>()

  constructor(setup: JobWatcherSetup) {
    this.#setup = setup
  }

  /** @param job as just read */
  follow(job: Job): JobFollower {
    const { timers } = this.#setup
    const watch = this.#watches.get(job.id) ?? this.#start(job)
    watch.followers += 1
    // A later reading may already have finished.
    if (watch.latest !== undefined && job.updatedAt > watch.latest.updatedAt) this.#note(watch, job)
    let hasLeft = false
    return {
      get latest() {
        return watch.latest
      },
      wait: (ms, signal) =>
        new Promise((resolve) => {
          const end = (how: 'changed' | 'silent'): void => {
            cancel()
            watch.waiting.delete(changed)
            signal.removeEventListener('abort', silent)
            resolve(how)
          }
          const changed = (): void => end('changed')
          const silent = (): void => end('silent')
          const cancel = timers.after(ms, silent, { background: true })
          watch.waiting.add(changed)
          signal.addEventListener('abort', silent, { once: true })
          if (signal.aborted) silent()
        }),
      leave: () => {
        if (hasLeft) return
        hasLeft = true
        watch.followers -= 1
        if (watch.followers === 0) this.#stop(job.id, watch)
      },
    }
  }

  /** How many jobs are being watched. */
  get size(): number {
    return this.#watches.size
  }

  #start(job: Job): Watch {
    const watch: Watch = { latest: job, followers: 0, waiting: new Set(), cancel: () => undefined }
    this.#watches.set(job.id, watch)
    this.#readLater(job.id, watch)
    return watch
  }

  #stop(id: string, watch: Watch): void {
    watch.cancel()
    if (this.#watches.get(id) === watch) this.#watches.delete(id)
  }

  #readLater(id: string, watch: Watch): void {
    const read = async (): Promise<void> => {
      // If the store cannot be read, the streams end. Clients reconnect and get the error.
      const job = await this.#setup.read(id).catch(() => undefined)
      if (watch.followers === 0) return
      this.#note(watch, job)
      if (job === undefined || isFinishedJob(job)) this.#stop(id, watch)
      else this.#readLater(id, watch)
    }
    watch.cancel = this.#setup.timers.after(readingMs, () => void read(), { background: true })
  }

  #note(watch: Watch, job: Job | undefined): void {
    const before = watch.latest
    watch.latest = job
    if (job !== undefined && before !== undefined && eventIdOf(before) === eventIdOf(job)) return
    for (const changed of [...watch.waiting]) changed()
  }
}

/** Identifies a state of a job, for `Last-Event-ID`. */
export function eventIdOf({ updatedAt, attemptsMade, status, progress }: Job): string {
  return `${updatedAt}-${attemptsMade}-${status}-${progress}`
}

/** Whether two states differ only in their progress. */
export function isOnlyProgress(before: string, after: string): boolean {
  const parts = (id: string): string => id.split('-').slice(1, 3).join('-')
  return before !== '' && parts(before) === parts(after)
}
