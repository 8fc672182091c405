/**
 * Jobs that BullMQ's scripts have fetched while they ended others, as for its own workers: a process that settles
 * one job of a full queue soon receives the next one. It saves a script, a round trip and a sync of the disk. A job
 * that is not received soon is released.
 */
import type { Ports } from '../../../core/ports.ts'
import type { LeasedJob } from './leases.ts'

export interface FetchedAheadOptions {
  readonly ports: Pick<Ports, 'clock' | 'timers'>
  /** Makes a job ready again, uncounted. */
  readonly takeBack: (jobs: readonly LeasedJob[]) => Promise<void>
}

interface Ahead {
  readonly leased: LeasedJob
  readonly visibilityMs: number
  readonly cancel: () => void
}

export interface NotedReceive {
  readonly visibilityMs: number
  readonly received: number
}

/** A few turns of a worker. Receives of other processes wait for no longer. */
const keptMs = 50

/** Receives that follow each other closely, and leave nothing that they asked for, before jobs are fetched ahead. */
const streakMin = 3

export class FetchedAhead {
  readonly #options: FetchedAheadOptions
  readonly #jobs = new Set<Ahead>()
  #streak = 0
  /** When a job was settled last. */
  #settledAt = 0
  /** How many more may be fetched until the next receive. */
  #wanted = 0
  #visibilityMs = 0

  constructor(options: FetchedAheadOptions) {
    this.#options = options
  }

  get size(): number {
    return this.#jobs.size
  }

  /** A receive; undefined if it found fewer jobs than it looked for. */
  note(receive: NotedReceive | undefined): void {
    const isClose = this.#options.ports.clock.monotonic() - this.#settledAt < keptMs
    this.#streak = receive !== undefined && isClose ? this.#streak + 1 : 0
    this.#wanted = this.#streak >= streakMin ? (receive?.received ?? 0) : 0
    this.#visibilityMs = receive?.visibilityMs ?? 0
  }

  /** How long a job that is fetched ahead is to be leased; undefined if none should be. */
  plan(): number | undefined {
    this.#settledAt = this.#options.ports.clock.monotonic()
    if (this.#wanted <= 0) return undefined
    this.#wanted--
    return this.#visibilityMs
  }

  add(leased: LeasedJob, visibilityMs: number): void {
    const ahead: Ahead = {
      leased,
      visibilityMs,
      cancel: this.#options.ports.timers.after(keptMs, () => {
        this.#jobs.delete(ahead)
        // The receives do not follow as closely as it seemed.
        this.#streak = 0
        this.#wanted = 0
        void this.#options.takeBack([leased])
      }),
    }
    this.#jobs.add(ahead)
  }

  take(max: number, visibilityMs: number): readonly LeasedJob[] {
    const taken = [...this.#jobs].filter((job) => job.visibilityMs === visibilityMs).slice(0, max)
    for (const ahead of taken) this.#remove(ahead)
    // Each that is received is replaced by the next one.
    this.#wanted += taken.length
    return taken.map(({ leased }) => leased)
  }

  /** Forgets all, which were purged. */
  clear(): readonly LeasedJob[] {
    this.#wanted = 0
    const all = [...this.#jobs]
    for (const ahead of all) this.#remove(ahead)
    return all.map(({ leased }) => leased)
  }

  async close(): Promise<void> {
    await this.#options.takeBack(this.clear())
  }

  #remove(ahead: Ahead): void {
    ahead.cancel()
    this.#jobs.delete(ahead)
  }
}
