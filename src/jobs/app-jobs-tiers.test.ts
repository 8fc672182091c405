import assert from 'node:assert/strict'
import { describe, test } from 'vitest'
import { z } from 'zod'
import { openScene } from '../../test/support/worker-scene.ts'
import { defineApp } from '../contracts/define-app.ts'
import { jobs } from '../contracts/jobs-declaration.ts'

const types = { OCR: z.unknown(), OMR: z.unknown(), SCAN: z.unknown() }

const app = defineApp('tiers', {
  queues: { basic: jobs({ types }), lite: jobs({ types }), free: jobs({ types }) },
  tiers: {
    basic: { queue: 'basic', allows: ['OCR', 'OMR'] },
    gold: { queue: 'basic', allows: ['OMR', 'SCAN'] },
    lite: { queue: 'lite', allows: ['OCR'] },
  },
  defaultTier: { OCR: 'lite', OMR: 'gold' },
})

/** Where a job went, and in which tier. */
async function placeOf(
  scene: Awaited<ReturnType<typeof openScene<typeof app>>>,
  { id }: { readonly id: string },
): Promise<readonly [queue: string, tier: string | null]> {
  const job = await scene.mill.jobs.get(id)
  assert.ok(job)
  return [job.queue.replace('tiers-dev-', ''), job.tier]
}

describe('a job in a queue', () => {
  test.each([
    ['basic', 'OCR', undefined, 'basic'],
    ['basic', 'OMR', undefined, 'gold'],
    ['basic', 'SCAN', undefined, 'gold'],
    ['basic', 'OMR', 'basic', 'basic'],
    ['lite', 'OCR', undefined, 'lite'],
    ['lite', 'OCR', 'lite', 'lite'],
    ['free', 'SCAN', undefined, null],
  ] as const)('%s, %s, of tier %s has the tier %s', async (queue, type, tier, expected) => {
    const scene = await openScene(app)
    const enqueued = await scene.mill.jobs.enqueue(queue, type, null, tier ? { tier } : {})
    assert.deepEqual(await placeOf(scene, enqueued), [queue, expected])
  })

  test.each([
    ['lite', 'OMR', undefined, "The tier 'lite' runs OCR, but not 'OMR'."],
    ['basic', 'OCR', 'gold', "The tier 'gold' runs OMR, SCAN, but not 'OCR'."],
    ['basic', 'OCR', 'lite', "The tier 'lite' is served by 'lite', not 'basic'."],
    ['free', 'OCR', 'lite', "The tier 'lite' is served by 'lite', not 'free'."],
    ['lite', 'OCR', 'iron', "The app has no tier 'iron'."],
    ['lite', 'OCR', 'constructor', "The app has no tier 'constructor'."],
  ] as const)('%s, %s, of tier %s is refused', async (queue, type, tier, message) => {
    const { mill } = await openScene(app)
    const options = tier === undefined ? {} : { tier }
    const refusal = { code: 'tier_refused', message }
    await assert.rejects(mill.jobs.enqueue(queue, type, null, options), refusal)
    await assert.rejects(
      mill.jobs.enqueueMany(queue, [
        { type: 'OCR', payload: 1, tier: 'lite' },
        { type, payload: 2, ...options },
      ]),
      { code: 'tier_refused' },
    )
    assert.deepEqual((await mill.jobs.list(queue)).items, [])
  })
})

describe('a job that is given to a tier', () => {
  test.each([
    ['OCR', undefined, 'lite', 'lite'],
    ['OMR', undefined, 'basic', 'gold'],
    ['OMR', 'basic', 'basic', 'basic'],
    ['SCAN', 'gold', 'basic', 'gold'],
  ] as const)('%s of tier %s goes to %s', async (type, tier, queue, expected) => {
    const scene = await openScene(app)
    const options = tier === undefined ? {} : { tier, owner: 'anna' }
    const enqueued = await scene.mill.jobs.enqueueByTier(type, null, options)
    assert.deepEqual(await placeOf(scene, enqueued), [queue, expected])
  })

  test.each([
    ['SCAN', undefined, "The job type 'SCAN' has no default tier. Pass the option tier."],
    ['SCAN', 'lite', "The tier 'lite' runs OCR, but not 'SCAN'."],
    ['OCR', 'iron', "The app has no tier 'iron'."],
  ] as const)('%s of tier %s is refused', async (type, tier, message) => {
    const { mill } = await openScene(app)
    const options = tier === undefined ? {} : { tier }
    await assert.rejects(mill.jobs.enqueueByTier(type, null, options), {
      code: 'tier_refused',
      message,
    })
  })

  test('needs an app with tiers', async () => {
    const { mill } = await openScene(defineApp('flat', { queues: { basic: jobs({ types }) } }))
    await assert.rejects(mill.jobs.enqueueByTier('OCR', null), {
      code: 'tier_refused',
      message: "The job type 'OCR' has no default tier. Pass the option tier.",
    })
    await assert.rejects(mill.jobs.enqueueByTier('OCR', null, { tier: 'lite' }), {
      code: 'tier_refused',
      message: "The app has no tier 'lite'.",
    })
    // Without tiers the name is a label like any other.
    const { id } = await mill.jobs.enqueue('basic', 'OCR', null, { tier: 'any' })
    assert.equal((await mill.jobs.get(id))?.tier, 'any')
  })
})
