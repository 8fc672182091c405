/**
 * Compares the processor time of two pieces of work. A limit in milliseconds would depend on the machine and
 * on what else runs on it.
 */
import assert from 'node:assert/strict'

type Work = () => unknown

export interface TimeComparison {
  readonly work: Work
  /** Work of the same kind that is known to be quick enough. */
  readonly reference: Work
  /** How many times as long as the reference the work may take. */
  readonly timesMax: number
}

const roundsMin = 3
const roundsMax = 15

/** Each round lasts so long because the system counts processor time in steps of some milliseconds. */
const roundMs = 10

/** Fails if the work takes too long in the best of several rounds. A disturbed round only takes longer. */
export async function assertTimesAsLong({
  work,
  reference,
  timesMax,
}: TimeComparison): Promise<void> {
  const best = { workMs: Number.POSITIVE_INFINITY, referenceMs: Number.POSITIVE_INFINITY }
  for (let round = 1; round <= roundsMax; round += 1) {
    best.referenceMs = Math.min(best.referenceMs, await processorMs(reference))
    best.workMs = Math.min(best.workMs, await processorMs(work))
    if (round >= roundsMin && best.workMs <= timesMax * best.referenceMs) return
  }
  const { workMs, referenceMs } = best
  assert.fail(`It took ${workMs} ms, more than ${timesMax} times ${referenceMs} ms.`)
}

/** The processor time of one run, by the mean of enough of them. */
async function processorMs(work: Work): Promise<number> {
  const start = process.threadCpuUsage()
  for (let runs = 1; ; runs += 1) {
    await work()
    const { user, system } = process.threadCpuUsage(start)
    const ms = (user + system) / 1_000
    if (ms >= roundMs) return ms / runs
  }
}
