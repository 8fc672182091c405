import { describe, expectTypeOf, test } from 'vitest'
import { z } from 'zod'
import {
  type AbortKind,
  AbortReason,
  deadLetter,
  defineApp,
  fifo,
  type HandlerContext,
  type Handlers,
  jobs,
  type MiddlewareContext,
  type Mill,
  queue,
  release,
  retryIn,
  type Worker,
  type WorkerEvent,
} from '../../src/index.ts'

const Ocr = z.object({ examId: z.string(), pages: z.string().transform(Number) })
const Omr = {
  schema: z.object({ sheet: z.number() }),
  result: z.object({ marks: z.string().transform(Number) }),
}

const academy = defineApp('academy', {
  queues: {
    basic: jobs({ types: { OCR: Ocr, OMR: Omr } }),
    lite: jobs({ types: { OCR: Ocr, TIDY: z.string() } }),
    video: queue({ schema: z.object({ fileKey: z.string() }) }),
    notes: queue(),
    steps: fifo({ schema: z.number(), deduplication: 'content' }),
    strict: fifo({ schema: z.number() }),
  },
})
type Queues = (typeof academy)['queues']

declare const mill: Mill<typeof academy>
const marks = () => ({ marks: '7' })

describe('a worker', () => {
  test('is made for some queues, each by name or with a weight', () => {
    const handle = { OCR: () => undefined, TIDY: () => undefined }
    expectTypeOf(mill.worker({ poll: ['lite'], handle })).toEqualTypeOf<Worker>()
    mill.worker({ poll: { lite: 3 }, handle, queueConcurrency: { lite: 1 }, stopTimeout: '10s' })
    mill.worker({ poll: { lite: 3, notes: 1 }, handle: { ...handle, notes: () => undefined } })
    // @ts-expect-error there is no such queue
    mill.worker({ poll: ['light'], handle })
    // @ts-expect-error there is no such queue
    mill.worker({ poll: { light: 1 }, handle })
    // @ts-expect-error a ceiling of a queue that is not polled
    mill.worker({ poll: ['lite'], handle, queueConcurrency: { basic: 1 } })
    // @ts-expect-error a number has no unit
    mill.worker({ poll: ['lite'], handle, stopTimeout: 30 })
  })

  test('has a handler for every type of its queues, and may have those of other queues', () => {
    mill.worker({ poll: ['basic'], handle: { OCR: () => undefined, OMR: marks } })
    mill.worker({ poll: ['video'], handle: { video: () => undefined } })
    // @ts-expect-error the handler of OMR is missing
    mill.worker({ poll: ['basic'], handle: { OCR: () => undefined } })
    // @ts-expect-error the handler of a queue of messages is missing
    mill.worker({ poll: ['lite', 'notes'], handle: { OCR: () => 1, TIDY: () => 1 } })
    mill.worker({ poll: ['video'], handle: { video: () => undefined, OMR: marks } })
    mill.worker({
      poll: ['notes'],
      handle: {
        notes: () => undefined,
        OMR: ({ sheet }) => ({ marks: String(sheet) }),
        video: ({ fileKey }) => fileKey,
      },
    })
    // @ts-expect-error a handler of a queue that is not polled has the types of that queue
    mill.worker({ poll: ['notes'], handle: { notes: () => 1, OMR: () => ({ marks: 7 }) } })
    // @ts-expect-error there is no such type at all
    mill.worker({ poll: ['video'], handle: { video: () => undefined, OMT: marks } })
    // @ts-expect-error jobs are handled by type, not by queue
    mill.worker({ poll: ['lite'], handle: { lite: () => undefined } })
  })

  test('shares one object of handlers with workers for other queues', () => {
    const handle: Handlers<Queues, keyof Queues> = {
      OCR: ({ pages }) => pages,
      OMR: marks,
      TIDY: (room) => room,
      video: ({ fileKey }) => fileKey,
      notes: () => undefined,
      steps: (step) => step,
      strict: (step) => step,
    }
    mill.worker({ poll: ['basic'], handle })
    mill.worker({ poll: ['lite', 'video'], handle })
    const { TIDY: _, ...others } = handle
    // @ts-expect-error the handler of TIDY is missing
    mill.worker({ poll: ['lite'], handle: others })
  })

  test('gives handlers what the schema makes of a payload', () => {
    mill.worker({
      poll: ['basic', 'lite', 'video', 'notes', 'steps'],
      handle: {
        OCR: (payload) => {
          expectTypeOf(payload).toEqualTypeOf<{ examId: string; pages: number }>()
        },
        OMR: (payload) => {
          expectTypeOf(payload).toEqualTypeOf<{ sheet: number }>()
          return { marks: '7' }
        },
        TIDY: (payload) => {
          expectTypeOf(payload).toEqualTypeOf<string>()
        },
        video: (message) => {
          expectTypeOf(message).toEqualTypeOf<{ fileKey: string }>()
        },
        notes: (message) => {
          expectTypeOf(message).toEqualTypeOf<unknown>()
        },
        steps: (message) => {
          expectTypeOf(message).toEqualTypeOf<number>()
        },
      },
    })
    mill.worker({
      poll: ['basic'],
      // @ts-expect-error a payload of another form
      handle: { OCR: (payload: { examId: number }) => payload, OMR: marks },
    })
  })

  test('takes from handlers what the schema of the result accepts, or an outcome', () => {
    const OCR = () => undefined
    mill.worker({ poll: ['basic'], handle: { OCR, OMR: async () => ({ marks: '7' }) } })
    mill.worker({ poll: ['basic'], handle: { OCR, OMR: () => release() } })
    mill.worker({ poll: ['basic'], handle: { OCR, OMR: async () => retryIn('5s') } })
    mill.worker({
      poll: ['basic'],
      handle: { OCR: () => ({ any: 'thing' }), OMR: () => deadLetter('no') },
    })
    const mixed = async (payload: { sheet: number }) =>
      payload.sheet > 0 ? { marks: '7' } : retryIn('1m')
    mill.worker({ poll: ['basic'], handle: { OCR, OMR: mixed } })
    // @ts-expect-error the schema takes a text
    mill.worker({ poll: ['basic'], handle: { OCR, OMR: () => ({ marks: 7 }) } })
    // @ts-expect-error a result is missing
    mill.worker({ poll: ['basic'], handle: { OCR, OMR: () => undefined } })
  })

  test('has middleware and events', () => {
    mill.worker({
      poll: ['notes'],
      handle: { notes: () => undefined },
      use: [
        async (context, next) => {
          expectTypeOf(context).toEqualTypeOf<MiddlewareContext>()
          expectTypeOf(next).toEqualTypeOf<() => Promise<unknown>>()
          return next()
        },
      ],
      onEvent: (event) => {
        expectTypeOf(event).toEqualTypeOf<WorkerEvent>()
      },
    })
  })
})

describe('a worker for job types that declare their handlers', () => {
  const own = defineApp('own', {
    queues: {
      scans: jobs({
        types: {
          OCR: { schema: Ocr, run: async ({ pages }) => pages },
          OMR: { ...Omr, run: () => ({ marks: '7' }) },
        },
      }),
      mixed: jobs({ types: { OCR: Ocr, TIDY: z.string() } }),
    },
  })
  const opened = null as unknown as Mill<typeof own>

  test('needs no handlers for them, and may have some', () => {
    opened.worker({ poll: ['scans'], handle: {} })
    opened.worker({ poll: ['scans'], handle: { OMR: ({ sheet }) => ({ marks: String(sheet) }) } })
    // @ts-expect-error the schema of the result takes a text
    opened.worker({ poll: ['scans'], handle: { OMR: () => ({ marks: 7 }) } })
    // @ts-expect-error there is no such type
    opened.worker({ poll: ['scans'], handle: { OMT: () => undefined } })
  })

  test('needs one where a polled queue declares the type without one', () => {
    const OCR = () => undefined
    opened.worker({ poll: ['mixed', 'scans'], handle: { OCR, TIDY: () => undefined } })
    // @ts-expect-error the OCR of mixed has no handler
    opened.worker({ poll: ['mixed', 'scans'], handle: { TIDY: () => undefined } })
  })
})

describe('the context of a handler', () => {
  const notes = (context: HandlerContext<Queues>): void => {
    context.send('video', { fileKey: 'a.mp4' })
    context.send('video', { fileKey: 'a.mp4' }, { delay: '5s' })
    context.send('notes', { anything: true })
    context.send('steps', 5, { group: 'a' })
    context.send('strict', 5, { group: 'a', deduplicationId: 'd' })
    context.enqueue('basic', 'OCR', { examId: 'e', pages: '3' }, { idempotencyKey: 'k' })
    context.enqueue('lite', 'TIDY', 'room')
    expectTypeOf(context.progress(0.5)).toEqualTypeOf<Promise<void>>()
    expectTypeOf(context.spend('llm', 1)).toEqualTypeOf<Promise<void>>()
    expectTypeOf(context.signal).toEqualTypeOf<AbortSignal>()
    expectTypeOf(context.attempt).toEqualTypeOf<number>()
    expectTypeOf(context.maxAttempts).toEqualTypeOf<number | null>()
  }

  test('sends and enqueues what the contracts of the app accept', () => {
    mill.worker({ poll: ['notes'], handle: { notes: (_, context) => notes(context) } })
  })

  test('refuses what they do not', () => {
    mill.worker({
      poll: ['notes'],
      handle: {
        notes: (_, context) => {
          // @ts-expect-error a message of another form
          context.send('video', { fileKey: 5 })
          // @ts-expect-error there is no such queue
          context.send('videos', { fileKey: 'a.mp4' })
          // @ts-expect-error a message of a FIFO queue needs a group
          context.send('steps', 5)
          // @ts-expect-error and without content deduplication an id
          context.send('strict', 5, { group: 'a' })
          // @ts-expect-error a queue of jobs takes no messages
          context.send('basic', { examId: 'e', pages: '3' })
          // @ts-expect-error a queue of messages takes no jobs
          context.enqueue('video', 'OCR', { examId: 'e', pages: '3' })
          // @ts-expect-error the queue has no such type
          context.enqueue('lite', 'OMR', { sheet: 1 })
          // @ts-expect-error a payload of another form
          context.enqueue('basic', 'OCR', { examId: 'e', pages: 3 })
          // @ts-expect-error what comes to be with a completion has no transaction of its own
          context.enqueue('lite', 'TIDY', 'room', { tx: {} })
          // @ts-expect-error nobody but the worker says who has it
          context.token = 5
        },
      },
    })
  })

  test('tells by a word why its handler should stop', () => {
    const reason: unknown = undefined
    if (reason instanceof AbortReason) {
      expectTypeOf(reason.kind).toEqualTypeOf<AbortKind>()
      expectTypeOf<AbortKind>().toEqualTypeOf<'timeout' | 'cancelled' | 'shutdown' | 'lease_lost'>()
    }
  })
})
