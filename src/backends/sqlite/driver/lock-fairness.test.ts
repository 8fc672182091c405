import assert from 'node:assert/strict'
import { onTestFinished, test } from 'vitest'
import { temporaryFolder } from '../../../../test/support/temporary-folder.ts'
import { VirtualClock } from '../../../testing/virtual-clock.ts'
import { Courtesy } from './lock-fairness.ts'

test('a knock counts for who began before it, and not after the wall clock was set back', async () => {
  const folder = await temporaryFolder('courtesy')
  const clock = new VirtualClock()
  const courtesy = new Courtesy(folder.file('bell'), clock)
  onTestFinished(async () => {
    courtesy.close()
    await folder.remove()
  })
  assert.equal(courtesy.knockedSince(clock.now()), undefined)
  courtesy.knock(7)
  assert.equal(courtesy.knockedSince(clock.now()), 7)
  await clock.advance(1)
  assert.equal(courtesy.knockedSince(clock.now()), undefined)
  clock.jumpWall(3_600_000)
  courtesy.knock(8)
  clock.jumpWall(-3_600_000)
  assert.equal(courtesy.knockedSince(clock.now()), undefined)
})
