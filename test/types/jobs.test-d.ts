import { type } from 'arktype'
import * as v from 'valibot'
import { describe, expectTypeOf, test } from 'vitest'
import { z } from 'zod'
import type { EnqueuedJob, Page } from '../../src/backend.ts'
import {
  type App,
  type DeclaredQueue,
  deadLetter,
  defineApp,
  type FinishedJob,
  fifo,
  type Job,
  type JobContext,
  type JobInput,
  type JobOutput,
  type JobsKey,
  type JobsOptions,
  type JobsQueue,
  type JobsQueueHandle,
  type JobTypes,
  jobs,
  type Mill,
  open,
  type QueueHandle,
  queue,
  retryIn,
} from '../../src/index.ts'

const Ocr = z.object({ examId: z.string(), pages: z.string().transform(Number) })

const academy = defineApp('academy', {
  queues: {
    basic: jobs({
      types: {
        OCR: Ocr,
        OMR: { schema: v.object({ sheet: v.optional(v.number(), 1) }), attempts: 5 },
        STATUS: { schema: type({ course: 'string' }), result: z.object({ ok: z.boolean() }) },
      },
      visibilityTimeout: '5m',
      deadLetter: { after: 3 },
    }),
    lite: jobs({ types: { OCR: z.object({ page: z.number() }) }, idempotencyFor: '7d' }),
    video: queue({ schema: Ocr }),
    attempts: fifo(),
  },
})

type Basic = typeof academy.queues.basic
declare const mill: Mill<typeof academy>
declare const id: string

describe('enqueueing', () => {
  test('takes the input of the schema of the type', () => {
    expectTypeOf(
      mill.jobs.enqueue('basic', 'OCR', { examId: 'e', pages: '3' }),
    ).resolves.toEqualTypeOf<EnqueuedJob>()
    mill.jobs.enqueue('basic', 'OMR', {})
    mill.jobs.enqueue('basic', 'STATUS', { course: 'c' })
    mill.jobs.enqueue('lite', 'OCR', { page: 1 })
    // @ts-expect-error pages is a string before it is transformed
    mill.jobs.enqueue('basic', 'OCR', { examId: 'e', pages: 3 })
    // @ts-expect-error the payload of another queue's type of the same name
    mill.jobs.enqueue('lite', 'OCR', { examId: 'e', pages: '3' })
    // @ts-expect-error the payload is missing
    mill.jobs.enqueue('basic', 'OCR')
  })

  test('knows the queues of jobs and the types of each', () => {
    expectTypeOf<JobsKey<typeof academy.queues>>().toEqualTypeOf<'basic' | 'lite'>()
    // @ts-expect-error a queue of messages
    mill.jobs.enqueue('video', 'OCR', { examId: 'e', pages: '3' })
    // @ts-expect-error there is no such queue
    mill.jobs.enqueue('none', 'OCR', { examId: 'e', pages: '3' })
    // @ts-expect-error a type of the other queue
    mill.jobs.enqueue('lite', 'OMR', {})
    // @ts-expect-error there is no such type
    mill.jobs.list('basic', { type: 'OCRR' })
    // @ts-expect-error a queue of messages
    mill.jobs.list('video')
  })

  test('takes options, and none that do not exist', () => {
    const options = { idempotencyKey: 'k', coalesce: true, owner: 'u', tenant: 't' } as const
    mill.jobs.enqueue('basic', 'OMR', {}, { ...options, delay: '5m', attempts: 2, tags: ['a'] })
    // @ts-expect-error a misspelt option
    mill.jobs.enqueue('basic', 'OMR', {}, { idempotencykey: 'k' })
    // @ts-expect-error not a duration
    mill.jobs.enqueue('basic', 'OMR', {}, { delay: 5 })
  })

  test('takes one job of a key within a window', () => {
    const window = { key: 'k', window: '1m' } as const
    mill.jobs.enqueue('basic', 'OMR', {}, { throttle: window })
    mill.jobs.enqueue('basic', 'OMR', {}, { debounce: { ...window, maxWait: '5m' } })
    // @ts-expect-error a throttle has no longest wait
    mill.jobs.enqueue('basic', 'OMR', {}, { throttle: { ...window, maxWait: '5m' } })
    // @ts-expect-error the key is missing
    mill.jobs.enqueue('basic', 'OMR', {}, { debounce: { window: '1m' } })
  })

  test('takes many jobs of several types, each with its own payload', () => {
    mill.jobs.enqueueMany('basic', [
      { type: 'OCR', payload: { examId: 'e', pages: '3' }, owner: 'u' },
      { type: 'STATUS', payload: { course: 'c' } },
    ])
    // @ts-expect-error the payload of another type
    mill.jobs.enqueueMany('basic', [{ type: 'OCR', payload: { course: 'c' } }])
    // @ts-expect-error a misspelt option
    mill.jobs.enqueueMany('basic', [{ type: 'OMR', payload: {}, attempt: 1 }])
  })

  test('has names for what goes in and what a handler gets', () => {
    expectTypeOf<JobInput<Basic, 'OCR'>>().toEqualTypeOf<{ examId: string; pages: string }>()
    expectTypeOf<JobOutput<Basic, 'OCR'>>().toEqualTypeOf<{ examId: string; pages: number }>()
    expectTypeOf<JobOutput<Basic, 'OMR'>>().toEqualTypeOf<{ sheet: number }>()
    expectTypeOf<JobInput<Basic, 'STATUS'>>().toEqualTypeOf<{ course: string }>()
  })
})

describe('enqueueing in a transaction', () => {
  test('takes the connection with one job, or for many together', () => {
    const tx = {}
    const payload = { examId: 'e', pages: '3' }
    mill.jobs.enqueue('basic', 'OCR', payload, { tx, owner: 'u' })
    mill.jobs.enqueueMany('basic', [{ type: 'OCR', payload }], { tx })
    // @ts-expect-error not a connection
    mill.jobs.enqueue('basic', 'OCR', payload, { tx: 'store.db' })
    // @ts-expect-error jobs that are stored together share one transaction
    mill.jobs.enqueueMany('basic', [{ type: 'OCR', payload, tx }])
    expectTypeOf(mill.storeFile).toEqualTypeOf<string | null>()
  })
})

describe('following', () => {
  test('gives values whose form is not known', () => {
    expectTypeOf(mill.jobs.get(id)).resolves.toEqualTypeOf<Job | undefined>()
    expectTypeOf(mill.jobs.list('basic', { type: 'OCR' })).resolves.toEqualTypeOf<Page<Job>>()
    expectTypeOf<Job['result']>().toEqualTypeOf<unknown>()
    expectTypeOf(mill.jobs.cancel(id)).resolves.toEqualTypeOf<Job>()
    expectTypeOf(mill.jobs.retry(id)).resolves.toEqualTypeOf<EnqueuedJob>()
  })

  test('waits for an end', () => {
    expectTypeOf(mill.jobs.waitFor(id, { timeout: '5s' })).resolves.toEqualTypeOf<FinishedJob>()
    expectTypeOf<FinishedJob['status']>().toEqualTypeOf<'completed' | 'failed' | 'cancelled'>()
  })
})

describe('the handle of a queue of jobs', () => {
  test('looks and cleans up, and neither sends nor receives', () => {
    expectTypeOf(mill.queues.basic).toExtend<JobsQueueHandle>()
    // @ts-expect-error jobs are enqueued through mill.jobs
    mill.queues.basic.send
    // @ts-expect-error jobs are not received as untyped messages
    mill.queues.basic.receive
  })

  test('leaves the handles of other queues as they are', () => {
    expectTypeOf(mill.queues.video).toEqualTypeOf<QueueHandle<typeof academy.queues.video>>()
    expectTypeOf(mill.queues.attempts).toEqualTypeOf<QueueHandle<typeof academy.queues.attempts>>()
  })
})

describe('declaring', () => {
  test('makes a queue like any other of an app', () => {
    expectTypeOf(academy.queues.basic).toExtend<DeclaredQueue>()
    expectTypeOf(academy).toExtend<App>()
    expectTypeOf(open(academy)).resolves.toEqualTypeOf<Mill<typeof academy>>()
  })

  test('refuses settings that a queue of jobs does not have', () => {
    const types = { OCR: Ocr }
    // @ts-expect-error the types are missing
    jobs({})
    // @ts-expect-error a job has the contract of its type
    jobs({ types, message: Ocr })
    // @ts-expect-error not a schema
    jobs({ types: { OCR: { examId: 'string' } } })
    // @ts-expect-error a number has no unit
    jobs({ types, idempotencyFor: 5 })
    // @ts-expect-error deduplication is a setting of FIFO queues
    jobs({ types, deduplication: 'content' })
  })
})

describe('a job type that declares its handler', () => {
  test('gives it the output of its schema, and a context without the queues of the app', () => {
    jobs({
      types: {
        OCR: {
          schema: z.object({ pages: z.string().transform(Number) }),
          run: async (payload, context) => {
            expectTypeOf(payload).toEqualTypeOf<{ pages: number }>()
            expectTypeOf(context).toEqualTypeOf<JobContext>()
            // @ts-expect-error the queues of the app are not known here
            context.send('video', payload)
            return payload.pages
          },
        },
        FIRST: {
          run: (payload) => expectTypeOf(payload).toEqualTypeOf<string>(),
          schema: v.string(),
        },
        ARK: { schema: type({ c: 'string' }), run: ({ c }) => c.length },
        PLAIN: z.number(),
        LATER: { schema: z.number(), attempts: 5 },
      },
    })
    jobs({
      types: {
        // @ts-expect-error a payload of another form
        OCR: {
          schema: z.object({ pages: z.number() }),
          run: (payload: { pages: string }) => payload.pages,
        },
      },
    })
    // @ts-expect-error it is no function
    jobs({ types: { OCR: { schema: z.string(), run: 'run' } } })
  })

  test('must return what the schema of its result accepts, or an outcome', () => {
    const schema = z.object({ sheet: z.number() })
    const result = z.object({ marks: z.string().transform(Number) })
    jobs({ types: { OMR: { schema, result, run: async () => ({ marks: '7' }) } } })
    jobs({ types: { OMR: { schema, result, run: () => retryIn('5s') } } })
    jobs({
      types: {
        OMR: {
          schema,
          result,
          run: async ({ sheet }) => (sheet > 0 ? { marks: '7' } : deadLetter('no sheet')),
        },
      },
    })
    // @ts-expect-error the schema takes a text
    jobs({ types: { OMR: { schema, result, run: async () => ({ marks: 7 }) } } })
    // @ts-expect-error a result is missing
    jobs({ types: { OMR: { schema, result, run: () => undefined } } })
  })

  test('leaves wrappers and options of unknown types as they were', () => {
    const wrapped = <Types extends JobTypes>(types: Types) => jobs({ types, attempts: 5 })
    expectTypeOf(wrapped({ OCR: z.string() })).toEqualTypeOf<JobsQueue<{ OCR: z.ZodString }>>()
    const options: JobsOptions = { types: {} }
    expectTypeOf(jobs(options)).toEqualTypeOf<JobsQueue>()
  })
})

describe('limits by key', () => {
  const Order = z.object({
    customer: z.object({ id: z.number().nullable(), tags: z.array(z.string()) }),
    region: z.enum(['eu', 'us']).optional(),
    data: z.unknown(),
  })
  const types = { ORDER: Order, CANCEL: { schema: z.object({ order: z.string() }) } }

  test('name paths to values in the message or the payload', () => {
    const concurrency = 1
    queue({ schema: Order, limits: [{ key: 'customer.id', concurrency }] })
    queue({ schema: Order, limits: [{ key: 'region', concurrency }], deadLetter: {} })
    queue({ schema: Order, limits: [{ key: 'data.anything', concurrency }] })
    queue({ limits: [{ key: 'any.thing', concurrency }] })
    jobs({ types, limits: [{ key: 'customer.id', concurrency }] })
    jobs({ types, limits: [{ key: 'order', rate: { max: 1, per: '1s' } }], deadLetter: {} })
    // @ts-expect-error there is no such path
    queue({ schema: Order, limits: [{ key: 'customer.name', concurrency }] })
    // @ts-expect-error an object is not a value
    queue({ schema: Order, limits: [{ key: 'customer', concurrency }] })
    // @ts-expect-error neither is an array
    jobs({ types, limits: [{ key: 'customer.tags', concurrency }] })
    // @ts-expect-error no type has such a path
    jobs({ types, limits: [{ key: 'orders', concurrency }] })
  })

  test('of a message that contains itself end somewhere', () => {
    interface Tree {
      readonly id: string
      readonly child?: Tree
    }
    const schema = z.custom<Tree>()
    queue({ schema, limits: [{ key: 'child.child.id', concurrency: 1 }] })
    // @ts-expect-error there is no such path
    queue({ schema, limits: [{ key: 'child.name', concurrency: 1 }] })
  })
})
