/** What the benchmark needs of a job library. The same code measures all of them. */

export interface BenchJob {
  /** The jobs of a database are numbered, so that lost and repeated ones are noticed. */
  readonly number: number
  readonly body: string
}

export interface JobLibrary {
  enqueue(job: BenchJob): Promise<unknown>
  /** All of them in one call. */
  enqueueMany(jobs: readonly BenchJob[]): Promise<unknown>
  /** How many jobs are stored and not finished. */
  unfinished(): Promise<number>
  /** Resolves when the worker runs, with the function that stops it. */
  startWorker(worker: BenchWorker): Promise<() => Promise<void>>
  /** Ends all connections. */
  close(): Promise<void>
}

export interface BenchWorker {
  /** How many handlers run at once at most. */
  readonly concurrency: number
  readonly handle: (job: BenchJob) => void
}

/** What is measured. Some libraries need other settings for many jobs than for a short wait. */
export type Aim = 'rate' | 'latency'

export interface OpenLibrary {
  readonly url: string
  readonly aim: Aim
}

/** In the order of the report. */
export const libraryNames = ['millrace', 'graphile-worker', 'pg-boss'] as const
export type LibraryName = (typeof libraryNames)[number]

/** Loads only the named library, and creates its tables if they are missing. */
export async function openLibrary(name: LibraryName, options: OpenLibrary): Promise<JobLibrary> {
  switch (name) {
    case 'millrace':
      return (await import('./millrace.ts')).openMillrace(options)
    case 'graphile-worker':
      return (await import('./graphile-worker.ts')).openGraphileWorker(options)
    case 'pg-boss':
      return (await import('./pg-boss.ts')).openPgBoss(options)
  }
}
