/** The first program of the README, with a handler that throws. Argument: the folder of the store. */
import { z } from 'zod'
import { defineApp, jobs, open } from '../../src/index.ts'

const Scan = z.object({ file: z.string() })
const app = defineApp('academy', { queues: { scans: jobs({ types: { OCR: Scan } }) } })

const mill = await open(app, { data: process.argv[2] ?? '' })
const worker = mill.worker({
  poll: ['scans'],
  handle: {
    OCR: async ({ file }) => {
      process.stdout.write('threw\n')
      throw new TypeError(`cannot read ${file}`, { cause: new Error('no such scanner') })
    },
  },
})
worker.start()
await mill.jobs.enqueue('scans', 'OCR', { file: 'p1.png' })
