import assert from 'node:assert/strict'
import { describe, test } from 'vitest'
import type { Job } from '../../jobs/job.ts'
import { virtualPorts } from '../../testing/virtual-clock.ts'
import { JobWatcher, readingMs } from './job-watcher.ts'

/** As far as a watcher looks at a job. */
const states = { id: 'j-1', status: 'pending', attemptsMade: 0, progress: 0, updatedAt: 1 }
const pending = states as Job

function watching(read: () => Promise<Job | undefined>) {
  const { clock } = virtualPorts()
  let readings = 0
  const watcher = new JobWatcher({
    read: () => {
      readings += 1
      return read()
    },
    timers: clock,
  })
  return { clock, watcher, readings: () => readings }
}

describe('a watched job', () => {
  test('is read four times a second, however many follow it', async () => {
    const { clock, watcher, readings } = watching(async () => pending)
    const followers = Array.from({ length: 50 }, () => watcher.follow(pending))
    await clock.advance(10_000)
    assert.equal(readings(), 40)
    assert.equal(watcher.size, 1)
    for (const follower of followers) follower.leave()
    assert.equal(watcher.size, 0)
    assert.equal(clock.pendingTimers, 0)
  })

  test('wakes those who wait when it has changed, and not before', async () => {
    let job: Job = pending
    const { clock, watcher } = watching(async () => job)
    const follower = watcher.follow(pending)
    const never = new AbortController().signal
    const silent = follower.wait(1_000, never)
    await clock.advance(1_000)
    assert.equal(await silent, 'silent')
    const changed = follower.wait(10_000, never)
    job = { ...pending, status: 'processing', attemptsMade: 1, updatedAt: 2 }
    await clock.advance(readingMs)
    assert.equal(await changed, 'changed')
    assert.equal(follower.latest, job)
    follower.leave()
  })

  test('is not set back by an older reading', async () => {
    const newer: Job = { ...pending, progress: 0.5, updatedAt: 2 }
    const { watcher } = watching(async () => newer)
    const first = watcher.follow(newer)
    const second = watcher.follow(pending)
    assert.equal(second.latest, newer)
    first.leave()
    second.leave()
  })

  test('is read no more when it has finished, has gone, or cannot be read', async () => {
    const ends: readonly (() => Promise<Job | undefined>)[] = [
      async () => ({ ...pending, status: 'completed', updatedAt: 9 }),
      async () => undefined,
      () => Promise.reject(new Error('down')),
    ]
    for (const end of ends) {
      const { clock, watcher, readings } = watching(end)
      const follower = watcher.follow(pending)
      const woken = follower.wait(10_000, new AbortController().signal)
      await clock.advance(5_000)
      assert.equal(await woken, 'changed')
      assert.equal(readings(), 1)
      assert.equal(follower.latest?.status, end === ends[0] ? 'completed' : undefined)
      follower.leave()
      assert.equal(clock.pendingTimers, 0)
    }
  })

  test('releases a wait that is aborted', async () => {
    const { clock, watcher } = watching(async () => pending)
    const follower = watcher.follow(pending)
    const given = new AbortController()
    const wait = follower.wait(10_000, given.signal)
    given.abort()
    assert.equal(await wait, 'silent')
    assert.equal(await follower.wait(10_000, given.signal), 'silent')
    follower.leave()
    follower.leave()
    assert.equal(clock.pendingTimers, 0)
  })
})
