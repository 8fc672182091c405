/** A job: tracked work with retries, progress and a result. */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { defineApp, jobs, open, UnrecoverableError } from 'millrace'
import { z } from 'zod'

const app = defineApp('first-job', {
  queues: {
    images: jobs({
      types: {
        RESIZE: {
          schema: z.object({ file: z.string(), width: z.number() }),
          result: z.object({ file: z.string() }),
          run: async ({ file, width }, context) => {
            console.log(`Attempt ${context.attempt} of ${file}`)
            // This error is not retried.
            if (!file.endsWith('.png'))
              throw new UnrecoverableError('Only PNG files can be resized.')
            // Any other error is retried.
            if (context.attempt === 1) throw new Error('The disk was busy.')
            await context.progress(0.5)
            return { file: file.replace('.png', `-${width}.png`) }
          },
        },
      },
      attempts: 3,
      // Short for this program. By default, the first retry waits 5 seconds.
      backoff: { from: '100ms' },
    }),
  },
})

// A temporary folder, so that each run starts empty. Without `data` the store is in `.millrace/`.
const data = await mkdtemp(join(tmpdir(), 'millrace-first-'))
const mill = await open(app, { data })

// In production, run the worker as a separate process: `await worker.run()` runs until SIGTERM.
mill.worker({ poll: ['images'], handle: {} }).start()

// The idempotency key makes it safe to enqueue twice: the second call returns the first job.
const payload = { file: 'mill.png', width: 200 }
const first = await mill.jobs.enqueue('images', 'RESIZE', payload, { idempotencyKey: 'mill-200' })
const again = await mill.jobs.enqueue('images', 'RESIZE', payload, { idempotencyKey: 'mill-200' })
console.log(`Enqueued: ${first.status}, then ${again.status}.`)

const job = await mill.jobs.waitFor(first.id)
console.log(`${job.status} after ${job.attemptsMade} attempts:`, job.result)

const { id } = await mill.jobs.enqueue('images', 'RESIZE', { file: 'mill.txt', width: 200 })
const failed = await mill.jobs.waitFor(id)
console.log(`${failed.status} after ${failed.attemptsMade} attempt: ${failed.error}`)

await mill.close() // also stops the worker
await rm(data, { recursive: true })
