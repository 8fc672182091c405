import { type } from 'arktype'
import * as v from 'valibot'
import { describe, expectTypeOf, test } from 'vitest'
import { z } from 'zod'
import {
  type App,
  type DeadLetterHandle,
  defineApp,
  type FifoQueue,
  fifo,
  jobs,
  type Mill,
  open,
  queue,
  type Sent,
  type StandardQueue,
  type TypedDelivery,
  triggers,
} from '../../src/index.ts'

const Video = z.object({ fileKey: z.string(), size: z.string().transform(Number) })

const academy = defineApp('academy', {
  queues: {
    video: queue({ schema: Video, deadLetter: { after: 3 } }),
    anything: queue(),
    attempts: fifo({ schema: z.object({ attempt: z.number() }) }),
    telemetry: fifo({ schema: z.object({ event: z.string() }), deduplication: 'content' }),
    valibot: queue({ schema: v.object({ page: v.optional(v.number(), 1) }) }),
    arktype: queue({ schema: type({ course: 'string', 'pages?': 'number' }) }),
  },
})

declare const mill: Mill<typeof academy>
const { queues } = mill

describe('sending', () => {
  test('takes the input of the schema', () => {
    expectTypeOf(queues.video.send).parameter(0).toEqualTypeOf<{ fileKey: string; size: string }>()
    expectTypeOf(queues.video.send({ fileKey: 'a', size: '3' })).resolves.toEqualTypeOf<Sent>()
    // @ts-expect-error size is a string before it is transformed
    queues.video.send({ fileKey: 'a', size: 3 })
    // @ts-expect-error size is missing
    queues.video.sendMany([{ fileKey: 'a' }])
    // @ts-expect-error size is missing
    queues.video.prepare({ fileKey: 'a' })
  })

  test('takes anything where no schema is declared', () => {
    expectTypeOf(queues.anything.send).parameter(0).toEqualTypeOf<unknown>()
  })

  test('takes delay and group on a standard queue, and no deduplication id', () => {
    queues.video.send({ fileKey: 'a', size: '3' }, { delay: '5m', tenant: 'tenant-1' })
    // @ts-expect-error a standard queue does not deduplicate
    queues.video.send({ fileKey: 'a', size: '3' }, { deduplicationId: 'x' })
    // @ts-expect-error not a duration
    queues.video.send({ fileKey: 'a', size: '3' }, { delay: 'soon' })
  })

  test('needs the group on a FIFO queue', () => {
    queues.telemetry.send({ event: 'key' }, { group: 'attempt-1' })
    queues.telemetry.send({ event: 'key' }, { group: 'attempt-1', deduplicationId: 'x' })
    // @ts-expect-error the options are missing
    queues.telemetry.send({ event: 'key' })
    // @ts-expect-error the group is missing
    queues.telemetry.send({ event: 'key' }, {})
    // @ts-expect-error the options are missing
    queues.telemetry.sendMany([{ event: 'key' }])
    // @ts-expect-error the delay of a FIFO queue is a setting of the queue
    queues.telemetry.send({ event: 'key' }, { group: 'attempt-1', delay: '1s' })
  })

  test('needs the deduplication id on a FIFO queue that does not make its own', () => {
    queues.attempts.send({ attempt: 1 }, { group: 'one', deduplicationId: 'x' })
    queues.attempts.prepare({ attempt: 1 }, { group: 'one', deduplicationId: 'x' })
    queues.attempts.sendMany([{ attempt: 1 }], ({ attempt }, index) => {
      expectTypeOf(attempt).toEqualTypeOf<number>()
      return { group: 'one', deduplicationId: `${attempt}-${index}` }
    })
    // @ts-expect-error the deduplication id is missing
    queues.attempts.send({ attempt: 1 }, { group: 'one' })
    // @ts-expect-error the deduplication id is missing
    queues.attempts.prepare({ attempt: 1 }, { group: 'one' })
  })
})

describe('receiving', () => {
  test('gives the output of the schema', () => {
    expectTypeOf(queues.video.receive({ max: 10, wait: '20s' })).resolves.toEqualTypeOf<
      readonly TypedDelivery<{ fileKey: string; size: number }>[]
    >()
    expectTypeOf(queues.attempts.receive()).resolves.toEqualTypeOf<
      readonly TypedDelivery<{ attempt: number }>[]
    >()
  })

  test('gives unknown where no schema is declared', () => {
    expectTypeOf(queues.anything.receive()).resolves.toEqualTypeOf<
      readonly TypedDelivery<unknown>[]
    >()
  })

  test('takes drafts of any queue with an acknowledgement', async () => {
    const [delivery] = await queues.video.receive()
    const emits = [
      queues.anything.prepare(1),
      queues.telemetry.prepare({ event: 'x' }, { group: 'a' }),
    ]
    const settled = await delivery?.acknowledge({ emits })
    expectTypeOf(settled?.status).toEqualTypeOf<
      'settled' | 'gone' | 'stale' | 'lapsed' | undefined
    >()
    // @ts-expect-error a plain message belongs to no queue
    delivery?.acknowledge({ emits: [{ fileKey: 'a' }] })
  })
})

describe('schemas of other libraries', () => {
  test('work with valibot', () => {
    expectTypeOf(queues.valibot.send).parameter(0).toEqualTypeOf<{ page?: number | undefined }>()
    expectTypeOf(queues.valibot.receive()).resolves.toEqualTypeOf<
      readonly TypedDelivery<{ page: number }>[]
    >()
  })

  test('work with arktype', () => {
    expectTypeOf(queues.arktype.send)
      .parameter(0)
      .toEqualTypeOf<{ course: string; pages?: number }>()
    expectTypeOf(queues.arktype.receive()).resolves.toEqualTypeOf<
      readonly TypedDelivery<{ course: string; pages?: number }>[]
    >()
  })
})

describe('declaring', () => {
  test('keeps the type of every queue', () => {
    expectTypeOf(academy.queues.video).toExtend<StandardQueue<typeof Video>>()
    expectTypeOf(academy.queues.telemetry).toExtend<FifoQueue>()
    expectTypeOf(academy).toExtend<App>()
    expectTypeOf(open(academy)).resolves.toEqualTypeOf<Mill<typeof academy>>()
  })

  test('knows the queues by name', () => {
    expectTypeOf<keyof typeof queues>().toEqualTypeOf<
      'video' | 'anything' | 'attempts' | 'telemetry' | 'valibot' | 'arktype'
    >()
    // @ts-expect-error there is no such queue
    queues.videos
  })

  test('refuses settings that a queue does not have', () => {
    // @ts-expect-error deduplication is a setting of FIFO queues
    queue({ deduplication: 'content' })
    // @ts-expect-error a misspelt setting
    queue({ visibility: '5m' })
    // @ts-expect-error a number has no unit
    queue({ visibilityTimeout: 300 })
    // @ts-expect-error a number of receives is not a text
    queue({ deadLetter: { after: '3' } })
    // @ts-expect-error not a schema
    queue({ schema: { fileKey: 'string' } })
    // @ts-expect-error there are two ways only
    fifo({ deduplication: 'both' })
  })
})

describe('dead letters', () => {
  test('of a queue that declares them are there', () => {
    expectTypeOf(queues.video.deadLetters).toEqualTypeOf<DeadLetterHandle>()
    expectTypeOf(queues.anything.deadLetters).toEqualTypeOf<DeadLetterHandle | null>()
    const declared = defineApp('x', {
      queues: {
        ordered: fifo({ deadLetter: {} }),
        work: jobs({ types: { A: z.unknown() }, deadLetter: { after: 2 } }),
        windows: triggers({ deadLetter: {} }),
      },
    })
    type Handles = Mill<typeof declared>['queues']
    expectTypeOf<Handles['ordered']['deadLetters']>().toEqualTypeOf<DeadLetterHandle>()
    expectTypeOf<Handles['work']['deadLetters']>().toEqualTypeOf<DeadLetterHandle>()
    expectTypeOf<Handles['windows']['deadLetters']>().toEqualTypeOf<DeadLetterHandle>()
  })
})
