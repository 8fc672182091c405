import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { type Mill, open } from 'millrace'
import type { Backend } from 'millrace/backend'
import { afterEach, beforeEach, describe, test } from 'vitest'
import { type TemporaryFolder, temporaryFolder } from '../../../test/support/temporary-folder.ts'
import { openFreshBackend } from '../../shared/test/store.ts'
import { type Academy, type AiJobType, createAcademy, type TierName } from '../app.ts'
import { readEnvironment } from '../environment.ts'
import type { AiHandler } from './ai-handlers.ts'
import { createAiWorker } from './create-ai-worker.ts'

let folder: TemporaryFolder
let backend: Backend
let mill: Mill<Academy>

beforeEach(async () => {
  folder = await temporaryFolder('academy-ai-worker')
  backend = await openFreshBackend(folder.path)
  mill = await open(createAcademy(readEnvironment({})), { backend, log: false })
})

afterEach(async () => {
  await mill.close()
  await backend.close()
  await folder.remove()
})

function jobOf(jobType: AiJobType, tier: TierName) {
  return {
    job_id: randomUUID(),
    job_type: jobType,
    tier,
    payload: { file_key: 'scans/tenant-1/page.png' },
    tenant_id: 1,
    source_domain: 'exams',
    source_id: '123',
    created_at: '2026-02-12T00:00:00Z',
    attempt: 0,
  }
}

async function enqueue(tier: TierName, count: number): Promise<void> {
  for (let made = 0; made < count; made += 1) {
    await mill.jobs.enqueueByTier('OCR', { ...jobOf('OCR', tier), job_type: 'OCR' }, { tier })
  }
}

/** The tiers of the first jobs that a worker with this environment starts, in order. */
async function firstTiers(count: number, variables: NodeJS.ProcessEnv): Promise<readonly string[]> {
  const tiers: string[] = []
  const enough = Promise.withResolvers<void>()
  const handler: AiHandler = async ({ tier }) => {
    tiers.push(tier)
    if (tiers.length === count) enough.resolve()
  }
  const handle = { OCR: handler, OMR: handler, STATUS_DETECTION: handler }
  const worker = createAiWorker({ mill, environment: readEnvironment(variables), handle })
  worker.start()
  await enough.promise
  await worker.stop()
  return tiers.slice(0, count)
}

const share = (tiers: readonly string[], tier: string): number =>
  tiers.filter((one) => one === tier).length

describe('an AI worker', () => {
  test('takes three jobs from basic for each job from lite, while both have jobs', async () => {
    await enqueue('lite', 24)
    await enqueue('basic', 24)
    const tiers = await firstTiers(16, {})
    assert.deepEqual([share(tiers, 'basic'), share(tiers, 'lite')], [12, 4])
  })

  test('uses the weights of the environment', async () => {
    await enqueue('lite', 12)
    await enqueue('basic', 12)
    const weights = { AI_WORKER_BASIC_POLL_WEIGHT: '1', AI_WORKER_LITE_POLL_WEIGHT: '1' }
    const tiers = await firstTiers(12, weights)
    assert.deepEqual([share(tiers, 'basic'), share(tiers, 'lite')], [6, 6])
  })

  test('takes all jobs from lite if basic is empty', async () => {
    await enqueue('lite', 8)
    assert.equal(share(await firstTiers(8, {}), 'lite'), 8)
  })

  test('serves only premium on a GPU', async () => {
    await enqueue('basic', 2)
    await enqueue('premium', 2)
    assert.equal(share(await firstTiers(2, { AI_WORKER_MODE: 'gpu' }), 'premium'), 2)
    assert.equal((await mill.queues.basic.statistics()).ready, 2)
  })

  test('does not run an OMR job that another program put into the lite queue', async () => {
    const payload = JSON.stringify(jobOf('OMR', 'lite'))
    await backend.jobs?.enqueue({
      queue: 'academy-ai-jobs-lite',
      jobs: [{ type: 'OMR', payload, maxAttempts: 3 }],
    })
    await enqueue('lite', 1)
    assert.deepEqual(await firstTiers(1, {}), ['lite'])
    assert.equal((await mill.queues.lite.deadLetters.statistics()).ready, 1)
  })
})
