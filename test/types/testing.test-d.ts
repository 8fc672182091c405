import { describe, expectTypeOf, test } from 'vitest'
import { z } from 'zod'
import { defineApp, fifo, jobs, type Mill, queue } from '../../src/index.ts'
import { openForTest, type TestMill, type WorkDone } from '../../src/testing/index.ts'

const academy = defineApp('academy', {
  queues: {
    basic: jobs({
      types: {
        OCR: z.object({ examId: z.string(), pages: z.string().transform(Number) }),
        OMR: z.object({ sheet: z.number() }),
      },
    }),
    video: queue({ schema: z.object({ fileKey: z.string(), at: z.coerce.date() }) }),
    notes: queue(),
    steps: fifo({ schema: z.number(), deduplication: 'content' }),
  },
})

declare const mill: TestMill<typeof academy>

describe('openForTest', () => {
  test('resolves with the app, which is used like any other', () => {
    expectTypeOf(openForTest(academy)).resolves.toEqualTypeOf<TestMill<typeof academy>>()
    expectTypeOf(mill).toExtend<Mill<typeof academy>>()
    expectTypeOf(mill).toExtend<AsyncDisposable>()
  })

  test('takes any of the handlers of a worker, with their types', () => {
    openForTest(academy, {
      handle: {
        OCR: ({ pages }, context) => {
          expectTypeOf(pages).toEqualTypeOf<number>()
          context.send('steps', 1, { group: 'g' })
        },
        video: ({ at }) => expectTypeOf(at).toEqualTypeOf<Date>(),
      },
    })
    // @ts-expect-error there is no such type or queue
    openForTest(academy, { handle: { OCRR: () => undefined } })
    // @ts-expect-error a string is not a Date
    openForTest(academy, { now: '2026-01-01' })
    // @ts-expect-error there is no such option
    openForTest(academy, { handler: {} })
  })
})

describe('the spies', () => {
  test('of messages have the output of the contract', () => {
    mill.sent('video').then(([first]) => {
      expectTypeOf(first?.message).toEqualTypeOf<{ fileKey: string; at: Date } | undefined>()
    })
    mill.sent('steps', { where: ({ message }) => message > 1 })
    mill.sent('notes').then(([first]) => expectTypeOf(first?.message).toEqualTypeOf<unknown>())
    // @ts-expect-error there is no such queue
    mill.sent('vidoe')
    // @ts-expect-error a jobs queue
    mill.sent('basic')
  })

  test('of jobs have the payload of their type', () => {
    mill.jobs('basic').then(([job]) => {
      if (job?.type === 'OCR') expectTypeOf(job.payload.pages).toEqualTypeOf<number>()
      if (job?.type === 'OMR') expectTypeOf(job.payload).toEqualTypeOf<{ sheet: number }>()
    })
    mill.jobs('basic', { type: 'OMR', where: ({ payload }) => payload.sheet > 1 }).then(([job]) => {
      expectTypeOf(job?.payload).toEqualTypeOf<{ sheet: number } | undefined>()
    })
    mill.jobs('basic', { status: 'failed' })
    // @ts-expect-error there is no such type
    mill.jobs('basic', { type: 'OCRR' })
    // @ts-expect-error a queue of messages
    mill.jobs('video')
    // @ts-expect-error there is no such status
    mill.jobs('basic', { status: 'done' })
  })
})

describe('work and time', () => {
  test('resolve with what was done', () => {
    expectTypeOf(mill.drain({ rethrow: true, limit: 5 })).resolves.toEqualTypeOf<WorkDone>()
    expectTypeOf(mill.advance('1h', { work: false })).resolves.toEqualTypeOf<WorkDone>()
    expectTypeOf(mill.advanceTo(new Date())).resolves.toEqualTypeOf<WorkDone>()
    // @ts-expect-error a number has no unit
    mill.advance(1_000)
    mill.failNext('OCR', new Error('busy'))
    mill.failNext('video')
    // @ts-expect-error the name of a jobs queue
    mill.failNext('basic')
  })
})
