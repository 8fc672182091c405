/** What must be true of the jobs that a claim took, and of those that it left. */
import assert from 'node:assert/strict'
import {
  isUsedUp,
  type JobModel,
  type ModelJob,
  type ModelQueue,
  names,
  noCeilings,
} from './job-model.ts'

/** Without gates the oldest come first; in a FIFO group they do anyway. */
export function checkOrder(model: JobModel, queue: ModelQueue, taken: readonly ModelJob[]): void {
  const claimable = model.claimable(queue).filter((job) => !isUsedUp(job))
  if (queue.isFifo) {
    for (const tenant of new Set(taken.map((job) => job.tenant))) {
      const ofGroup = taken.filter((job) => job.tenant === tenant)
      const first = claimable.filter((job) => job.tenant === tenant).slice(0, ofGroup.length)
      assert.deepEqual(names(ofGroup), names(first), `out of order in ${tenant}`)
    }
  } else if (queue.ceilings === noCeilings && model.switches.size === 0) {
    assert.deepEqual(names(taken), names(claimable.slice(0, taken.length)), 'out of order')
  }
}

export function checkRate(model: JobModel, { ceilings: { rate }, claims, name }: ModelQueue): void {
  if (rate === null) return
  const recent = claims.filter((at) => at > model.now - rate.perMs)
  assert.ok(recent.length <= rate.max, `${recent.length} claims from ${name} within the rate`)
}

/** Whatever was left could not be taken. */
export function checkRest(model: JobModel, before: readonly ModelJob[]): void {
  for (const job of before) {
    if (job.status !== 'pending' || isUsedUp(job)) continue
    // In a FIFO queue those that were taken have locked their groups.
    if (!model.claimable(job.queue).includes(job)) continue
    assert.notEqual(model.stoppedBy(job), undefined, `${job.name} was left`)
  }
}
