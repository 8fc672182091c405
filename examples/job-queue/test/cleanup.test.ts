/** The nightly clean-up, on a clock of the test's own where it waits for three o'clock. */
import assert from 'node:assert/strict'
import { readdir, utimes, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { VirtualClock } from 'millrace/testing'
import { describe, test } from 'vitest'
import { Cleanup, type Time } from '../cleanup.ts'
import { addDocument, type LogLine, openScene, recording, type Scene, turn } from './scene.ts'

const hourMs = 3_600_000
const never = (): (() => void) => () => undefined

/** A clean-up that believes that it is so many hours later. */
function cleanupOf(scene: Scene, hoursLater: number): Cleanup {
  const time: Time = { now: () => Date.now() + hoursLater * hourMs, after: never }
  const { deadLettersKept } = scene.environment
  return new Cleanup({ ...scene, deadLettersKept, time, log: recording([]) })
}

/** Lets jobs fail and answers their ids; each leaves a dead letter. */
async function fail(scene: Scene, count: number): Promise<readonly string[]> {
  const ids: string[] = []
  for (let index = 0; index < count; index += 1) {
    const { job_id } = await scene.queue.enqueueOcrJob({ document_id: `missing-${index}` })
    await scene.mill.jobs.waitFor(job_id)
    ids.push(job_id)
  }
  return ids
}

async function deadDocuments({ mill }: Scene): Promise<readonly string[]> {
  const { items } = await mill.queues.dead_letters.peek({ limit: 100 })
  return items.map(({ body }) => JSON.parse(body).document_id)
}

describe('the clean-up', () => {
  test('removes dead letters older than a day, and leaves the history of jobs alone', async () => {
    const scene = await openScene()
    scene.startWorker()
    const [id = ''] = await fail(scene, 1)
    const before = await scene.mill.jobs.get(id)
    assert.equal((await cleanupOf(scene, 23).run()).dead_letters, 0)
    assert.deepEqual(await deadDocuments(scene), ['missing-0'])
    assert.equal((await cleanupOf(scene, 25).run()).dead_letters, 1)
    assert.deepEqual(await deadDocuments(scene), [])
    assert.equal((await cleanupOf(scene, 25).run()).dead_letters, 0)
    assert.deepEqual(await scene.mill.jobs.get(id), before)
    assert.equal(before?.status, 'failed')
  })

  test('leaves as many of the newest dead letters as are to be kept', async () => {
    const scene = await openScene({ variables: { JOB_QUEUE_REMOVE_ON_FAIL: '2' } })
    scene.startWorker()
    await fail(scene, 5)
    assert.equal((await cleanupOf(scene, 0).run()).dead_letters, 3)
    assert.deepEqual(await deadDocuments(scene), ['missing-3', 'missing-4'])
  })

  test('can run in two replicas at once: each dead letter is removed by one of them', async () => {
    const scene = await openScene()
    scene.startWorker()
    await fail(scene, 12)
    const cleaned = await Promise.all([cleanupOf(scene, 25).run(), cleanupOf(scene, 25).run()])
    const removed = cleaned.reduce((sum, { dead_letters }) => sum + dead_letters, 0)
    assert.equal(removed, 12)
    assert.deepEqual(await deadDocuments(scene), [])
  })

  test('removes uploads that were cut off, and neither young ones nor documents', async () => {
    const scene = await openScene()
    const document = await addDocument(scene, 'whole')
    const { folder } = scene.services.documents
    for (const name of ['old.part', 'young.part']) await writeFile(join(folder, name), 'half')
    const longAgo = new Date(Date.now() - 25 * hourMs)
    for (const name of ['old.part', document]) await utimes(join(folder, name), longAgo, longAgo)
    assert.equal((await cleanupOf(scene, 0).run()).partial_uploads, 1)
    assert.deepEqual((await readdir(folder)).sort(), [document, 'young.part'].sort())
  })

  test('removes events that no browser will ask for any more', async () => {
    const scene = await openScene()
    const course = scene.services.courses.create({ owner: 'ada', topic: 'Mills', modules: 1 })
    scene.services.courses.end(course, 'completed')
    assert.equal((await cleanupOf(scene, 23).run()).events, 0)
    assert.equal((await cleanupOf(scene, 25).run()).events, 1)
  })

  test('runs every day at three in the morning', async () => {
    const scene = await openScene()
    const clock = new VirtualClock({ startAt: new Date(2026, 2, 10, 14).getTime() })
    const lines: LogLine[] = []
    const log = recording(lines)
    const cleanup = new Cleanup({ ...scene, deadLettersKept: 50, time: clock, log })
    cleanup.start()
    await clock.advance(13 * hourMs - 1)
    assert.equal(lines.length, 0)
    await clock.advance(1)
    while (lines.length < 1) await turn()
    await clock.advance(24 * hourMs)
    while (lines.length < 2) await turn()
    assert.deepEqual(
      lines.map(({ message }) => message),
      ['cleaned up', 'cleaned up'],
    )
    cleanup.stop()
    assert.equal(clock.pendingTimers, 0)
  })
})
