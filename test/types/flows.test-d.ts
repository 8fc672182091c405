import type { DatabaseSync } from 'node:sqlite'
import { describe, expectTypeOf, test } from 'vitest'
import { z } from 'zod'
import type { FlowRecord } from '../../src/backend.ts'
import {
  type ChainProgress,
  chain,
  defineApp,
  fifo,
  flow,
  type HandlerContext,
  jobs,
  type Mill,
  type Opened,
  queue,
  type StoreConnection,
} from '../../src/index.ts'

const Page = z.object({ page: z.string().transform(Number) })
const Done = z.object({ documentId: z.string() })

const library = defineApp('library', {
  queues: {
    extract: queue({ schema: Page }),
    ordered: fifo({ schema: Page }),
    finalize: queue({ schema: Done }),
    course: jobs({ types: { OUTLINE: z.object({ topic: z.string() }), WRITE: Done } }),
  },
  flows: {
    extraction: flow({ units: 'extract', finalize: 'finalize' }),
    quiet: flow({ units: 'course', failed: 'finalize', onUnitFailure: 'fail' }),
    inOrder: flow({ units: 'ordered' }),
  },
  chains: {
    course: chain({
      steps: [
        { name: 'outline', queue: 'course', type: 'OUTLINE' },
        {
          name: 'write',
          queue: 'course',
          type: 'WRITE',
          from: (outline: { id: string }, start: { topic: string }) => ({
            documentId: outline.id + start.topic,
          }),
        },
      ],
    }),
    plain: chain({ steps: [{ name: 'extract', queue: 'extract' }] }),
  },
})

const plain = defineApp('plain', { queues: { extract: queue() } })

declare const mill: Mill<typeof library>
declare const bare: Mill<typeof plain>
const { extraction, quiet, inOrder } = mill.flows
const finalize = { message: { documentId: 'd' } }

describe('a flow', () => {
  test('is there under its key, and nothing else is', () => {
    // @ts-expect-error there is no such flow
    mill.flows.extractions
    // @ts-expect-error a chain is no flow
    mill.flows.course
    // @ts-expect-error this app has none
    bare.flows.extraction
  })

  test('takes units of its queue', () => {
    const units = [
      { id: 'a', message: { page: '1' }, options: { delay: '5s' } },
      { id: 'b' },
    ] as const
    expectTypeOf(extraction.open('d', { units, finalize })).resolves.toEqualTypeOf<Opened>()
    extraction.open('d', { units: new Set(units), finalize, seal: false })
    extraction.add('d', units, { seal: true })
    // @ts-expect-error a page is a text before it is transformed
    extraction.open('d', { units: [{ id: 'a', message: { page: 1 } }], finalize })
    // @ts-expect-error a unit has an id
    extraction.add('d', [{ message: { page: '1' } }])
    // @ts-expect-error a queue of messages takes no jobs
    extraction.add('d', [{ id: 'a', type: 'WRITE', payload: { documentId: 'd' } }])
  })

  test('takes jobs where its queue is for jobs', () => {
    const payload = { documentId: 'd' }
    quiet.add('d', [{ id: 'a', type: 'WRITE', payload, options: { owner: 'o' } }])
    quiet.resume('d', 'a', { type: 'WRITE', payload })
    // @ts-expect-error the payload of another type
    quiet.add('d', [{ id: 'a', type: 'OUTLINE', payload }])
    // @ts-expect-error a unit is known by its id
    quiet.add('d', [{ id: 'a', type: 'WRITE', payload, options: { idempotencyKey: 'k' } }])
    // @ts-expect-error a message is no job
    quiet.resume('d', 'a', { message: payload })
  })

  test('asks for a group where its queue is FIFO', () => {
    inOrder.add('d', [{ id: 'a', message: { page: '1' }, options: { group: 'g' } }])
    // @ts-expect-error the group is missing
    inOrder.add('d', [{ id: 'a', message: { page: '1' } }])
  })

  test('asks for the ends that it declares, and for no others', () => {
    // @ts-expect-error finalize is missing
    extraction.open('d', { units: [] })
    // @ts-expect-error it declares no queue for failures
    extraction.open('d', { units: [], finalize, failed: finalize })
    quiet.open('d', { units: [], failed: finalize })
    // @ts-expect-error of another form
    extraction.open('d', { units: [], finalize: { message: { document: 'd' } } })
  })

  test('may stand for a unit of a flow of the app', () => {
    extraction.open('d', { units: [], finalize, parent: { flow: 'quiet', id: 'p', unit: 'u' } })
    // @ts-expect-error there is no such flow
    extraction.open('d', { units: [], finalize, parent: { flow: 'silent', id: 'p', unit: 'u' } })
  })

  test('is followed by its id', () => {
    expectTypeOf(extraction.read('d')).resolves.toEqualTypeOf<FlowRecord | undefined>()
    expectTypeOf(extraction.mark('d', ['a', 'b'])).resolves.toEqualTypeOf<FlowRecord>()
    // @ts-expect-error there is no such state
    extraction.units('d', { state: 'lost' })
  })
})

describe('a chain', () => {
  const { course } = mill.chains

  test('is started with what its first step takes', () => {
    course.start('c', { topic: 'tides' }, { options: { owner: 'o' } })
    mill.chains.plain.start('c', { page: '1' })
    // @ts-expect-error that is what the second step takes
    course.start('c', { documentId: 'd' })
    // @ts-expect-error there is no such chain
    mill.chains.courses.start('c', { topic: 'tides' })
  })

  test('is resumed from one of its steps', () => {
    expectTypeOf(course.resume('c', { from: 'write' })).resolves.toEqualTypeOf<ChainProgress>()
    // @ts-expect-error there is no such step
    course.resume('c', { from: 'print' })
  })
})

describe('the context of a handler', () => {
  test('opens flows, starts chains and marks units of the app', () => {
    mill.worker({
      poll: ['extract'],
      handle: {
        extract: (_, context) => {
          context.open('extraction', 'd', {
            units: [{ id: 'a', message: { page: '1' } }],
            finalize,
          })
          context.open('quiet', 'd', { units: [], failed: finalize, takeOver: true })
          context.start('course', 'c', { topic: 'tides' }, { takeOver: true })
          context.mark('extraction', 'd', 'a')
          // @ts-expect-error there is no such flow
          context.open('extractions', 'd', { units: [], finalize })
          // @ts-expect-error finalize is missing
          context.open('extraction', 'd', { units: [] })
          // @ts-expect-error a page is a text before it is transformed
          context.open('extraction', 'd', { units: [{ id: 'a', message: { page: 1 } }], finalize })
          // @ts-expect-error that is what another chain takes
          context.start('course', 'c', { page: '1' })
          // @ts-expect-error a chain is no flow
          context.mark('course', 'c', 'outline')
        },
      },
    })
  })

  test('writes rows on the connection that the handler says it is', () => {
    type Context = HandlerContext<(typeof library)['queues'], typeof library>
    const handle = (context: Context): void => {
      context.within((db) => expectTypeOf(db).toEqualTypeOf<StoreConnection>())
      context.within((db: DatabaseSync) => void db.prepare('SELECT 1').get())
    }
    mill.worker({ poll: ['extract'], handle: { extract: (_, context) => handle(context) } })
  })

  test('may be asked for with fewer parts than the app has', () => {
    const handle = (context: HandlerContext<(typeof library)['queues']>): void =>
      context.send('finalize', { documentId: 'd' })
    mill.worker({ poll: ['extract'], handle: { extract: (_, context) => handle(context) } })
  })
})

describe('a flow', () => {
  const queues = { pages: queue(), bound: queue() }

  test('names queues of its app', () => {
    defineApp('x', { queues, flows: { book: flow({ units: 'pages', finalize: 'bound' }) } })
    // @ts-expect-error there is no queue 'page'
    defineApp('x', { queues, flows: { book: flow({ units: 'page' }) } })
    // @ts-expect-error there is no queue 'bounds'
    defineApp('x', { queues, flows: { book: flow({ units: 'pages', finalize: 'bounds' }) } })
  })
})
