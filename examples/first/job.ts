/** A job: work that is tracked from enqueue to its end, with retries, progress and a result. */
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
        },
      },
      attempts: 3,
      // Short, so that this program is. The default waits 5 seconds before the first retry.
      backoff: { from: '100ms' },
    }),
  },
})

// A folder of its own, so that each run starts empty. Without `data` the store is in `.millrace/`.
const data = await mkdtemp(join(tmpdir(), 'millrace-first-'))
const mill = await open(app, { data })

// Usually a process of its own: `await worker.run()` works until SIGTERM.
const worker = mill.worker({
  poll: ['images'],
  handle: {
    RESIZE: async ({ file, width }, context) => {
      console.log(`Attempt ${context.attempt} of ${file}`)
      // An error that a retry may cure: throw it. One that no retry cures: fail at once.
      if (!file.endsWith('.png')) throw new UnrecoverableError('Only PNG files can be resized.')
      if (context.attempt === 1) throw new Error('The disk was busy.')
      await context.progress(0.5)
      return { file: file.replace('.png', `-${width}.png`) }
    },
  },
})
worker.start()

// The idempotency key makes it safe to enqueue twice: the second call finds the first job.
const order = { file: 'mill.png', width: 200 }
const first = await mill.jobs.enqueue('images', 'RESIZE', order, { idempotencyKey: 'mill-200' })
const again = await mill.jobs.enqueue('images', 'RESIZE', order, { idempotencyKey: 'mill-200' })
console.log(`Enqueued: ${first.status}, then ${again.status}.`)

const job = await mill.jobs.waitFor(first.id)
console.log(`${job.status} after ${job.attemptsMade} attempts:`, job.result)

const { id } = await mill.jobs.enqueue('images', 'RESIZE', { file: 'mill.txt', width: 200 })
const failed = await mill.jobs.waitFor(id)
console.log(`${failed.status} after ${failed.attemptsMade} attempt: ${failed.error}`)

await mill.close() // stops the worker, too
await rm(data, { recursive: true })
