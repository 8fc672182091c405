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

export function checkRates(model: JobModel, { ceilings, claims, name }: ModelQueue): void {
  const within = (perMs: number) => claims.filter(({ at }) => at > model.now - perMs)
  const { rate, perKey } = ceilings
  if (rate !== null) {
    const { length } = within(rate.perMs)
    assert.ok(length <= rate.max, `${length} claims from ${name} within the rate`)
  }
  for (const { key, rate: ofKey } of perKey) {
    if (ofKey === null) continue
    const recent = within(ofKey.perMs).map(({ keys }) => keys[key])
    for (const value of new Set(recent.filter((one) => one !== undefined))) {
      const { length } = recent.filter((one) => one === value)
      assert.ok(length <= ofKey.max, `${length} claims of ${key} ${value} from ${name}`)
    }
  }
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
