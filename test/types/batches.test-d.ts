import { describe, expectTypeOf, test } from 'vitest'
import { z } from 'zod'
import {
  type BatchContext,
  batch,
  defineApp,
  type HandlerContext,
  type Handlers,
  jobs,
  type Mill,
  queue,
  retryIn,
} from '../../src/index.ts'

const Ocr = z.object({ examId: z.string(), pages: z.string().transform(Number) })
const Omr = { schema: z.object({ sheet: z.number() }), result: z.object({ marks: z.number() }) }

const academy = defineApp('academy', {
  queues: {
    basic: jobs({ types: { OCR: Ocr, OMR: Omr } }),
    video: queue({ schema: z.object({ fileKey: z.string() }) }),
    notes: queue(),
  },
})
type Queues = (typeof academy)['queues']

declare const mill: Mill<typeof academy>

describe('a batch handler', () => {
  test('gets items with the payload of its queue, and commits with each', () => {
    mill.worker({
      poll: ['video'],
      handle: {
        video: batch({ size: 100, window: '200ms' }, async (items, context) => {
          for (const item of items) {
            expectTypeOf(item.payload).toEqualTypeOf<{ fileKey: string }>()
            expectTypeOf(item.attempt).toEqualTypeOf<number>()
            item.enqueue('basic', 'OMR', { sheet: 1 })
            // @ts-expect-error there is no such type
            item.enqueue('basic', 'OMT', { sheet: 1 })
          }
          expectTypeOf(context.queue).toEqualTypeOf<string>()
          expectTypeOf(context).toExtend<BatchContext<(typeof items)[number]>>()
          // @ts-expect-error a batch emits with its items
          context.send('notes', 'x')
        }),
      },
    })
  })

  test('stands beside other handlers, whose types stay the same', () => {
    mill.worker({
      poll: ['basic', 'video'],
      handle: {
        OCR: ({ pages }) => expectTypeOf(pages).toEqualTypeOf<number>(),
        OMR: batch({ size: 2 }, (items) =>
          items.map(({ payload }) => {
            if (payload.sheet === 1) return retryIn('1s')
            return payload.sheet === 2 ? new Error('no') : { marks: payload.sheet }
          }),
        ),
        video: batch({ size: 2 }, (items) => items.map(async ({ payload }) => payload.fileKey)),
      },
    })
  })

  test('returns ends that fit the result of its type', () => {
    const OCR = () => undefined
    mill.worker({ poll: ['basic'], handle: { OCR, OMR: batch({ size: 2 }, () => retryIn('1s')) } })
    mill.worker({
      poll: ['basic'],
      // @ts-expect-error the marks are a number
      handle: { OCR, OMR: batch({ size: 2 }, (items) => items.map(() => ({ marks: '7' }))) },
    })
    mill.worker({
      poll: ['basic'],
      // @ts-expect-error not one result for all
      handle: { OCR, OMR: batch({ size: 2 }, () => ({ marks: 7 })) },
    })
  })

  test('can be shared between workers', () => {
    const handle: Handlers<Queues, keyof Queues> = {
      OCR: batch({ size: 5 }, async (items) => {
        expectTypeOf(items[0]?.payload.pages).toEqualTypeOf<number | undefined>()
      }),
      OMR: () => ({ marks: 1 }),
      video: () => undefined,
      notes: batch({ size: 5 }, async () => undefined),
    }
    mill.worker({ poll: ['notes'], handle })
    mill.worker({ poll: ['basic'], handle })
  })

  test('gives middleware its context instead of that of one job', () => {
    mill.worker({
      poll: ['notes'],
      handle: { notes: batch({ size: 2 }, async () => undefined) },
      use: [
        (context, next) => {
          expectTypeOf(context.queue).toEqualTypeOf<string>()
          expectTypeOf(context.id).toEqualTypeOf<string | undefined>()
          if (context.items !== undefined) {
            expectTypeOf(context.items[0]?.id).toEqualTypeOf<string | undefined>()
          } else expectTypeOf(context).toExtend<HandlerContext>()
          return next()
        },
      ],
    })
  })
})
