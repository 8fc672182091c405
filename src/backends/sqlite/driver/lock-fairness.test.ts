import assert from 'node:assert/strict'
import { onTestFinished, test } from 'vitest'
import { temporaryFolder } from '../../../../test/support/temporary-folder.ts'
import { VirtualClock } from '../../../testing/virtual-clock.ts'
import { LockFairness } from './lock-fairness.ts'

test('a requestTurn counts for who began before it, and not after the wall clock was set back', async () => {
  const folder = await temporaryFolder('fairness')
  const clock = new VirtualClock()
  const fairness = new LockFairness(folder.file('wakeFile'), clock)
  onTestFinished(async () => {
    fairness.close()
    await folder.remove()
  })
  assert.equal(fairness.turnRequestedSince(clock.now()), undefined)
  fairness.requestTurn(7)
  assert.equal(fairness.turnRequestedSince(clock.now()), 7)
  await clock.advance(1)
  assert.equal(fairness.turnRequestedSince(clock.now()), undefined)
  clock.jumpWall(3_600_000)
  fairness.requestTurn(8)
  clock.jumpWall(-3_600_000)
  assert.equal(fairness.turnRequestedSince(clock.now()), undefined)
})
