/** The nightly clean-up, on a virtual clock where it waits for three o'clock. */
import assert from 'node:assert/strict'
import { readdir, utimes, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { virtualPorts } from 'millrace/testing'
import { describe, test } from 'vitest'
import { type CleanedUp, cleanup } from '../cleanup.ts'
import { openMill } from '../open-mill.ts'
import { addDocument, openScene, recording, type Scene } from './scene.ts'

const hourMs = 3_600_000
/** Cleans up as if it were so many hours later. */
function cleanUp(scene: Scene, hoursLater: number): Promise<CleanedUp> {
  const { deadLettersKept } = scene.environment
  const at = new Date(Date.now() + hoursLater * hourMs).toISOString()
  return cleanup({ ...scene, deadLettersKept })({ at })
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
    assert.equal((await cleanUp(scene, 23)).dead_letters, 0)
    assert.deepEqual(await deadDocuments(scene), ['missing-0'])
    assert.equal((await cleanUp(scene, 25)).dead_letters, 1)
    assert.deepEqual(await deadDocuments(scene), [])
    assert.equal((await cleanUp(scene, 25)).dead_letters, 0)
    assert.deepEqual(await scene.mill.jobs.get(id), before)
    assert.equal(before?.status, 'failed')
  })

  test('leaves as many of the newest dead letters as are to be kept', async () => {
    const scene = await openScene({ variables: { JOB_QUEUE_REMOVE_ON_FAIL: '2' } })
    scene.startWorker()
    await fail(scene, 5)
    assert.equal((await cleanUp(scene, 0)).dead_letters, 3)
    assert.deepEqual(await deadDocuments(scene), ['missing-3', 'missing-4'])
  })

  test('can run in two replicas at once: each dead letter is removed by one of them', async () => {
    const scene = await openScene()
    scene.startWorker()
    await fail(scene, 12)
    const cleaned = await Promise.all([cleanUp(scene, 25), cleanUp(scene, 25)])
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
    assert.equal((await cleanUp(scene, 0)).partial_uploads, 1)
    assert.deepEqual((await readdir(folder)).sort(), [document, 'young.part'].sort())
  })

  test('removes events that no browser will ask for any more', async () => {
    const scene = await openScene()
    const course = scene.services.courses.create({ owner: 'ada', topic: 'Mills', modules: 1 })
    scene.services.courses.end(course, 'completed')
    assert.equal((await cleanUp(scene, 23)).events, 0)
    assert.equal((await cleanUp(scene, 25)).events, 1)
  })

  test('is enqueued every day at three in the morning, once, whatever the number of processes', async () => {
    const scene = await openScene()
    const ports = virtualPorts(1, { startAt: Date.parse('2026-03-11T01:59:00Z') })
    const { clock } = ports
    const environment = {
      ...scene.environment,
      cleanupZone: 'Europe/Berlin',
      dataDirectory: join(scene.environment.dataDirectory, 'another'),
    }
    const open = () => openMill(environment, recording([]), { ports })
    await using mill = await open()
    await using _replica = await open()
    const ticks = async (): Promise<readonly unknown[]> =>
      (await mill.jobs.list('maintenance_queue')).items.map(({ payload }) => payload)
    await clock.advance(59_000)
    assert.deepEqual(await ticks(), [])
    await clock.advance(2_000)
    assert.deepEqual(await ticks(), [{ at: '2026-03-11T02:00:00.000Z' }])
    const [next] = await mill.schedules.nightly.next()
    assert.equal(next?.toISOString(), '2026-03-12T02:00:00.000Z')
  })

  test('is a job like any other: an operator can run it now, and its result stays', async () => {
    const scene = await openScene()
    scene.startWorker()
    await fail(scene, 1)
    const id = await scene.mill.schedules.nightly.runNow({ by: 'root' })
    const job = await scene.mill.jobs.waitFor(id)
    assert.deepEqual(job.result, { dead_letters: 0, partial_uploads: 0, events: 0 })
  })
})
