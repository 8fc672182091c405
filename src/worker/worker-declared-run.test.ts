import assert from 'node:assert/strict'
import { describe, test } from 'vitest'
import { z } from 'zod'
import { openScene } from '../../test/support/worker-scene.ts'
import { batch } from '../contracts/batch-handler.ts'
import { defineApp } from '../contracts/define-app.ts'
import type { JobContext } from '../contracts/job-context.ts'
import { type JobsQueue, jobs } from '../contracts/jobs-declaration.ts'

const Page = z.object({ page: z.string().transform(Number) })
const Marks = z.object({ marks: z.string().transform(Number) })

const app = defineApp('declared', {
  queues: {
    scans: jobs({
      types: {
        OCR: {
          schema: Page,
          run: async ({ page }, context) => {
            await context.progress(0.5)
            return { next: page + 1, type: context.type, attempt: context.attempt }
          },
        },
        OMR: { schema: Page, result: Marks, run: ({ page }) => ({ marks: `${page}` }) },
      },
    }),
    plain: jobs({ types: { OCR: Page } }),
  },
})

describe('a job type that declares its handler', () => {
  test('is run by workers that have no other handler for it', async () => {
    const { mill } = await openScene(app)
    const ocr = await mill.jobs.enqueue('scans', 'OCR', { page: '6' })
    const omr = await mill.jobs.enqueue('scans', 'OMR', { page: '7' })
    await mill.worker({ poll: ['scans'], handle: {} }).drain()
    const job = await mill.jobs.get(ocr.id)
    assert.deepEqual(job?.result, { next: 7, type: 'OCR', attempt: 1 })
    assert.deepEqual((await mill.jobs.get(omr.id))?.result, { marks: '7' })
  })

  test('is run by the handler of the worker where there is one', async () => {
    const { mill } = await openScene(app)
    const { id } = await mill.jobs.enqueue('scans', 'OCR', { page: '6' })
    await mill.worker({ poll: ['scans'], handle: { OCR: ({ page }) => page } }).drain()
    assert.equal((await mill.jobs.get(id))?.result, 6)
  })

  test('may declare a handler of batches', async () => {
    const run = batch<{ readonly page: number }, number, JobContext>({ size: 10 }, (items) =>
      items.map(({ payload }) => payload.page * items.length),
    )
    const inBatches = defineApp('batched', {
      queues: { scans: jobs({ types: { OCR: { schema: Page, run } } }) },
    })
    const { mill } = await openScene(inBatches)
    const one = await mill.jobs.enqueue('scans', 'OCR', { page: '6' })
    const two = await mill.jobs.enqueue('scans', 'OCR', { page: '7' })
    await mill.worker({ poll: ['scans'], handle: {} }).drain()
    const found = await Promise.all([one, two].map(({ id }) => mill.jobs.get(id)))
    assert.deepEqual(
      found.map((job) => job?.result),
      [12, 14],
    )
  })

  test('has a failed attempt when the result does not fit', async () => {
    const wrong = defineApp('wrong', {
      queues: {
        scans: jobs({
          types: { OMR: { schema: Page, result: Marks, run: () => ({ marks: 7 }) as never } },
        }),
      },
    })
    const { mill } = await openScene(wrong)
    const { id } = await mill.jobs.enqueue('scans', 'OMR', { page: '7' })
    await mill.worker({ poll: ['scans'], handle: {} }).drain()
    const job = await mill.jobs.get(id)
    assert.deepEqual([job?.status, job?.attemptsMade], ['pending', 1])
  })

  test('does not stand in for the same type of another queue', async () => {
    const { mill } = await openScene(app)
    assert.throws(() => mill.worker({ poll: ['scans', 'plain'], handle: {} as never }), {
      code: 'invalid_argument',
      message: "handle.OCR: got undefined, expected a function: the queue 'plain' is polled",
    })
  })

  test('is refused when it is no function', () => {
    const scans = jobs({ types: { OCR: { schema: Page, run: 'run' } } } as never) as JobsQueue
    assert.throws(() => defineApp('wrong', { queues: { scans } }), {
      code: 'invalid_contract',
      message: "queues.scans.types.OCR.run: got 'run', expected a function",
    })
  })
})
