/** The nightly clean-up. Tests of its schedule use a virtual clock. */
import assert from 'node:assert/strict'
import { readdir, utimes, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { virtualPorts } from 'millrace/testing'
import { describe, test } from 'vitest'
import { storeOnPortsTime, storeVariables } from '../../shared/test/store.ts'
import { until } from '../../shared/until.ts'
import { type CleanedUp, cleanup } from '../cleanup.ts'
import { openMill } from '../open-mill.ts'
import { addDocument, type Fixture, openFixture, recording } from './fixture.ts'

const hourMs = 3_600_000
/** Runs the clean-up with a clock this many hours ahead. */
function cleanUp(fixture: Fixture, hoursLater: number): Promise<CleanedUp> {
  const { deadLettersKept } = fixture.environment
  const at = new Date(Date.now() + hoursLater * hourMs).toISOString()
  return cleanup({ ...fixture, deadLettersKept })({ at })
}

/** Makes jobs fail and resolves to their ids; each leaves a dead letter. */
async function fail(fixture: Fixture, count: number): Promise<readonly string[]> {
  const ids: string[] = []
  for (let index = 0; index < count; index += 1) {
    const { job_id } = await fixture.queue.enqueueOcrJob({ document_id: `missing-${index}` })
    await fixture.mill.jobs.waitFor(job_id)
    ids.push(job_id)
  }
  return ids
}

async function deadDocuments({ mill }: Fixture): Promise<readonly string[]> {
  const { items } = await mill.queues.dead_letters.peek({ limit: 100 })
  return items.map(({ body }) => JSON.parse(body).document_id)
}

describe('the clean-up', () => {
  test('removes dead letters older than a day, and keeps job rows', async () => {
    const fixture = await openFixture()
    fixture.startWorker()
    const [id = ''] = await fail(fixture, 1)
    const before = await fixture.mill.jobs.get(id)
    assert.equal((await cleanUp(fixture, 23)).dead_letters, 0)
    assert.deepEqual(await deadDocuments(fixture), ['missing-0'])
    assert.equal((await cleanUp(fixture, 25)).dead_letters, 1)
    assert.deepEqual(await deadDocuments(fixture), [])
    assert.equal((await cleanUp(fixture, 25)).dead_letters, 0)
    assert.deepEqual(await fixture.mill.jobs.get(id), before)
    assert.equal(before?.status, 'failed')
  })

  test('keeps the configured number of the newest dead letters', async () => {
    const fixture = await openFixture({ variables: { JOB_QUEUE_REMOVE_ON_FAIL: '2' } })
    fixture.startWorker()
    await fail(fixture, 5)
    assert.equal((await cleanUp(fixture, 0)).dead_letters, 3)
    assert.deepEqual(await deadDocuments(fixture), ['missing-3', 'missing-4'])
  })

  test('can run twice at once: each dead letter is removed once', async () => {
    const fixture = await openFixture()
    fixture.startWorker()
    await fail(fixture, 12)
    const cleaned = await Promise.all([cleanUp(fixture, 25), cleanUp(fixture, 25)])
    const removed = cleaned.reduce((sum, { dead_letters }) => sum + dead_letters, 0)
    assert.equal(removed, 12)
    assert.deepEqual(await deadDocuments(fixture), [])
  })

  test('removes interrupted uploads, but not recent ones or documents', async () => {
    const fixture = await openFixture()
    const document = await addDocument(fixture, 'whole')
    const { folder } = fixture.services.documents
    for (const name of ['old.part', 'young.part']) await writeFile(join(folder, name), 'half')
    const longAgo = new Date(Date.now() - 25 * hourMs)
    for (const name of ['old.part', document]) await utimes(join(folder, name), longAgo, longAgo)
    assert.equal((await cleanUp(fixture, 0)).partial_uploads, 1)
    assert.deepEqual((await readdir(folder)).sort(), [document, 'young.part'].sort())
  })

  test('removes old events', async () => {
    const fixture = await openFixture()
    const course = fixture.services.courses.create({ owner: 'ada', topic: 'Mills', modules: 1 })
    fixture.services.courses.end(course, 'completed')
    assert.equal((await cleanUp(fixture, 23)).events, 0)
    assert.equal((await cleanUp(fixture, 25)).events, 1)
  })

  test('is enqueued once a day at three in the morning, across all processes', async () => {
    const fixture = await openFixture()
    const ports = virtualPorts(1, { startAt: Date.parse('2026-03-11T01:59:00Z') })
    const { clock } = ports
    const environment = {
      ...fixture.environment,
      cleanupZone: 'Europe/Berlin',
      store: join(fixture.environment.dataDirectory, 'another'),
    }
    const options = { ports, ...storeOnPortsTime(await storeVariables()) }
    const open = () => openMill(environment, recording([]), options)
    await using mill = await open()
    await using _replica = await open()
    const ticks = async (): Promise<readonly unknown[]> =>
      (await mill.jobs.list('maintenance_queue')).items.map(({ payload }) => payload)
    await clock.advance(59_000)
    assert.deepEqual(await ticks(), [])
    await clock.advance(2_000)
    // A database server may be slow.
    await until(async () => (await ticks()).length > 0, 'there is a tick')
    assert.deepEqual(await ticks(), [{ at: '2026-03-11T02:00:00.000Z' }])
    const [next] = await mill.schedules.nightly.next()
    assert.equal(next?.toISOString(), '2026-03-12T02:00:00.000Z')
  })

  test('can be run now by an operator, and its result is kept', async () => {
    const fixture = await openFixture()
    fixture.startWorker()
    await fail(fixture, 1)
    const id = await fixture.mill.schedules.nightly.runNow({ by: 'root' })
    const job = await fixture.mill.jobs.waitFor(id)
    assert.deepEqual(job.result, { dead_letters: 0, partial_uploads: 0, events: 0 })
  })
})
