import assert from 'node:assert/strict'
import { afterAll, beforeAll, describe, test, vi } from 'vitest'
import { z } from 'zod'
import type { CarrierChoice } from '../../src/backends/carriers/carrier.ts'
import { bullmq } from '../../src/bullmq.ts'
import {
  defineApp,
  flow,
  jobs,
  type Mill,
  open,
  queue,
  UnrecoverableError,
} from '../../src/index.ts'
import { sqs } from '../../src/sqs.ts'
import { freshDatabase } from '../services/fresh-database.ts'
import { freshRedis } from '../services/fresh-redis.ts'
import type { CliProcess } from '../support/cli-process.ts'
import { type TemporaryFolder, temporaryFolder } from '../support/temporary-folder.ts'
import { clientSettings } from './sqs/carrier-scene.ts'
import { sqsServers } from './sqs/sqs-servers.ts'

const shop = defineApp('shop', {
  queues: {
    mail: queue({ schema: z.object({ to: z.string() }), deadLetter: { after: 3 } }),
    scans: jobs({
      types: { OCR: { schema: z.object({ page: z.number() }) } },
      backoff: { from: '1s', factor: 1 },
      deadLetter: { after: 3 },
    }),
    pages: queue({ schema: z.object({ page: z.number() }) }),
    books: queue({ schema: z.object({ book: z.string() }) }),
  },
  flows: { book: flow({ units: 'pages', finalize: 'books' }) },
})

interface Place {
  readonly carrier: CarrierChoice
  close(): Promise<void>
}

// local-aws-sqs holds a poll that found something until its time is over.
const quick = sqsServers.filter(({ name }) => name !== 'local-aws-sqs')

const places: Readonly<Record<string, () => Promise<Place>>> = {
  ...Object.fromEntries(quick.map((kind) => [`SQS of ${kind.name}`, () => sqsPlace(kind)])),
  BullMQ: async () => {
    const { url, prefix } = await freshRedis()
    return { carrier: bullmq(url, { prefix }), close: async () => undefined }
  },
}

async function sqsPlace(kind: (typeof sqsServers)[number]): Promise<Place> {
  const folder: TemporaryFolder = await temporaryFolder('carried-app')
  const server: CliProcess = kind.start(folder.file('data'))
  const [, address = ''] = await server.output(/listening on (http:\S+)/)
  return {
    carrier: sqs({ client: clientSettings(address) }),
    async close() {
      server.kill('SIGKILL')
      await server.ended
      await folder.remove()
    },
  }
}

describe.each(Object.entries(places))('an app on %s and Postgres', (_, start) => {
  let place: Place
  let mill: Mill<typeof shop>

  beforeAll(async () => {
    place = await start()
    const { url } = await freshDatabase()
    mill = await open(shop, { store: url, carrier: place.carrier, log: false })
  })
  afterAll(async () => {
    await mill.close()
    await place.close()
  })

  test('runs messages, jobs with retries, emits and flows', async () => {
    const ran: string[] = []
    const worker = mill.worker({
      poll: ['mail', 'scans', 'pages', 'books'],
      concurrency: 10,
      handle: {
        mail: ({ to }) => void ran.push(`mail ${to}`),
        OCR: async ({ page }, context) => {
          ran.push(`OCR ${page}, attempt ${context.attempt}`)
          if (page === 2 && context.attempt === 1) throw new Error('no paper')
          if (page === 3) throw new UnrecoverableError('torn')
          context.send('mail', { to: `reader of ${page}` })
          return { page }
        },
        pages: ({ page }) => void ran.push(`page ${page}`),
        books: ({ book }) => void ran.push(`book ${book}`),
      },
    })
    worker.start()
    await mill.queues.mail.send({ to: 'ann' })
    const enqueued = await Promise.all(
      [1, 2, 3].map((page) => mill.jobs.enqueue('scans', 'OCR', { page })),
    )
    await mill.flows.book.open('b1', {
      units: [1, 2].map((page) => ({ id: String(page), message: { page } })),
      finalize: { message: { book: 'b1' } },
    })
    await vi.waitFor(() => {
      const expected = [
        'mail ann',
        'OCR 1, attempt 1',
        'OCR 2, attempt 1',
        'OCR 2, attempt 2',
        'OCR 3, attempt 1',
        'mail reader of 1',
        'mail reader of 2',
        'page 1',
        'page 2',
        'book b1',
      ]
      assert.deepEqual(ran.toSorted(), expected.toSorted())
    }, 60_000)
    const ended = await Promise.all(enqueued.map(({ id }) => mill.jobs.waitFor(id)))
    const statuses = ended.map(({ status }) => status)
    assert.deepEqual(statuses, ['completed', 'completed', 'failed'])
    await worker.stop()
  })
})
