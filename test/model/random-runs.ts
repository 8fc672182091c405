import { test } from 'vitest'
import type { Randomness } from '../../src/core/ports.ts'
import { seededRandomness } from '../../src/testing/virtual-clock.ts'
import { seed } from '../support/seed.ts'

export interface RandomRun {
  /** What the run has done, for the message of a failure. */
  readonly steps: readonly string[]
  run(steps: number): Promise<void>
}

export interface RandomRuns {
  readonly name: string
  /** Set by a variable such as `MILLRACE_JOB_RUNS`. */
  readonly runs: number
  /** Opening a store costs more than a run, so it serves many. */
  readonly runsPerStore: number
  readonly stepsPerRun: number
  /** Opens a store. */
  readonly open: () => Promise<OpenedForRuns>
}

export interface OpenedForRuns {
  readonly create: (setup: { randomness: Randomness; run: string }) => RandomRun
  /** Checks the store and removes it. */
  readonly end: () => Promise<void>
}

/** One test per store. A failure prints the seed of its run, to be repeated with `MILLRACE_SEED`. */
export function testRandomRuns({ name, runs, runsPerStore, stepsPerRun, open }: RandomRuns): void {
  for (let from = 0; from < runs; from += runsPerStore) {
    const until = Math.min(runs, from + runsPerStore)
    test(`${name}, seeds ${seed + from} to ${seed + until - 1}`, async () => {
      const opened = await open()
      for (let index = from; index < until; index += 1) {
        const randomness = seededRandomness(seed + index)
        const run = opened.create({ randomness, run: `${index}` })
        try {
          await run.run(stepsPerRun)
        } catch (error) {
          const story = run.steps.slice(-60).join('\n')
          throw new Error(`MILLRACE_SEED=${seed + index}, after\n${story}`, { cause: error })
        }
      }
      await opened.end()
    })
  }
}
