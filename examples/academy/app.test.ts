import assert from 'node:assert/strict'
import { type Mill, open } from 'millrace'
import type { Backend } from 'millrace/backend'
import { afterEach, beforeEach, describe, test } from 'vitest'
import { type TemporaryFolder, temporaryFolder } from '../../test/support/temporary-folder.ts'
import { openFreshBackend } from '../shared/test/store.ts'
import { submitAiJob } from './api.ts'
import { type Academy, type AiJob, createAcademy } from './app.ts'
import { readEnvironment } from './environment.ts'
import { openRecords, type Records } from './records.ts'

let folder: TemporaryFolder
let backend: Backend
let mill: Mill<Academy>
let records: Records

beforeEach(async () => {
  folder = await temporaryFolder('academy-app')
  backend = await openFreshBackend(folder.path)
  mill = await open(createAcademy(readEnvironment({})), { backend })
  records = openRecords({ file: ':memory:', attemptMsMax: 240_000, now: Date.now })
})

afterEach(async () => {
  await mill.close()
  await backend.close()
  records[Symbol.dispose]()
  await folder.remove()
})

/** The example message of the specification, with a real id. */
const documented: AiJob = {
  job_id: '6f0f1c3e-58a4-4d0a-9a55-0b8f0d3b8a11',
  job_type: 'OMR',
  tier: 'basic',
  payload: { file_key: 'scans/tenant-1/sheet.jpg' },
  tenant_id: 1,
  source_domain: 'exams',
  source_id: '123',
  created_at: '2026-02-12T00:00:00Z',
  attempt: 0,
}

const request = {
  fileKey: 'scans/tenant-1/sheet.jpg',
  tenantId: 1,
  sourceDomain: 'exams',
  sourceId: '123',
} as const

describe('the queues of the academy', () => {
  test.each([
    'academy-video-jobs',
    'academy-ai-jobs-lite',
    'academy-ai-jobs-basic',
    'academy-ai-jobs-premium',
  ])(
    '%s: five minutes of visibility, fourteen days, dead letters after three receives',
    async (queue) => {
      const { settings } = await backend.readQueue({ queue })
      assert.equal(settings.visibilityMs, 300_000)
      assert.equal(settings.retentionMs, 14 * 86_400_000)
      assert.deepEqual(settings.deadLetter, { queue: `${queue}-dlq`, maxReceives: 3 })
      await backend.readQueue({ queue: `${queue}-dlq` })
    },
  )

  test('have the specified alarms', () => {
    assert.deepEqual(
      mill.app.alarms?.map(({ metric, queue, comparison, threshold }) => [
        metric,
        queue,
        comparison,
        threshold,
      ]),
      [
        ['dead_letters', '*', 'above', 10],
        ['depth', '*', 'above', 1000],
        ['error_rate', '*', 'above', 0.05],
      ],
    )
  })
})

describe('a message', () => {
  test('of the video queue has the specified format', async () => {
    const video = {
      video_id: 123,
      file_key: 'videos/tenant-1/video-123.mp4',
      tenant_code: 'hakwonplus',
    }
    await mill.queues.video.send(video)
    const { items } = await mill.queues.video.peek()
    assert.deepEqual(
      items.map(({ body }) => JSON.parse(body)),
      [video],
    )
  })

  test('of an AI queue has the specified format', async () => {
    await mill.jobs.enqueueByTier('OMR', { ...documented, job_type: 'OMR' })
    const { items } = await mill.queues.basic.peek()
    assert.deepEqual(
      items.map(({ body }) => JSON.parse(body)),
      [documented],
    )
  })

  test('with a file key outside the storage folder is refused', async () => {
    const video = { video_id: 1, file_key: '../secrets.mp4', tenant_code: 'hakwonplus' }
    await assert.rejects(mill.queues.video.send(video), { code: 'invalid_message' })
  })
})

describe('the tier of a job', () => {
  test.each([
    ['OCR', 'lite'],
    ['OMR', 'basic'],
    ['STATUS_DETECTION', 'basic'],
  ] as const)('of type %s is %s by default', async (jobType, tier) => {
    const submitted = await submitAiJob({ mill, records }, { ...request, jobType })
    const job = await mill.jobs.get(submitted.queuedAs)
    assert.equal(job?.tier, tier)
    assert.equal((await mill.queues[tier].statistics()).ready, 1)
  })

  test('can be chosen', async () => {
    await submitAiJob({ mill, records }, { ...request, jobType: 'OCR', tier: 'premium' })
    const { items } = await mill.queues.premium.peek()
    assert.equal(JSON.parse(items[0]?.body ?? '').tier, 'premium')
  })

  test.each(['OMR', 'STATUS_DETECTION'] as const)(
    'cannot be lite for %s, and nothing is stored',
    async (jobType) => {
      const submitted = submitAiJob({ mill, records }, { ...request, jobType, tier: 'lite' })
      await assert.rejects(submitted, ({ message }: Error) => /'lite' runs OCR/.test(message))
      assert.equal((await mill.queues.lite.statistics()).totals.sent, 0)
      assert.deepEqual(records.list(), [])
    },
  )
})
