import assert from 'node:assert/strict'
import { describe, test } from 'vitest'
import { z } from 'zod'
import { aborted, gate, openScene, started, withTime } from '../../test/support/worker-scene.ts'
import type { Receive, Settle } from '../backends/backend.ts'
import { type BatchItem, batch } from '../contracts/batch-handler.ts'
import { defineApp } from '../contracts/define-app.ts'
import { jobs } from '../contracts/jobs-declaration.ts'
import { fifo, queue } from '../contracts/queue-declaration.ts'
import type { HandlerContext } from './handler-context.ts'
import type { WorkerEvent } from './worker-event.ts'

const Count = z.number()

const app = defineApp('batches', {
  queues: {
    events: queue({ schema: Count, visibilityTimeout: '30s', deadLetter: { after: 3 } }),
    work: jobs({
      types: {
        STORE: { schema: Count, timeout: '10s' },
        INDEX: Count,
        SINGLE: Count,
      },
      obeys: 'WORK_PAUSED',
      deadLetter: {},
    }),
    few: jobs({ types: { FEW: Count }, concurrency: 3 }),
    ordered: fifo({ schema: Count, deduplication: 'content', visibilityTimeout: '1m' }),
    out: queue({ schema: Count }),
  },
})

type Context = HandlerContext<(typeof app)['queues']>
type Item = BatchItem<number, Context>
const batched = batch<number, unknown, Context>

const payloads = (items: readonly { readonly payload: number }[]): readonly number[] =>
  items.map(({ payload }) => payload)
const upTo = (count: number): readonly number[] =>
  Array.from({ length: count }, (_, one) => one + 1)

/** A scene whose worker notes the batches of its handler. */
async function scene() {
  const receives: Receive[] = []
  const settles: Settle[] = []
  const opened = await openScene(app, {
    wrap: (backend) => ({
      ...backend,
      receive: (request) => {
        receives.push(request)
        return backend.receive(request)
      },
      settle: (request) => {
        settles.push(request)
        return backend.settle(request)
      },
    }),
  })
  const { mill } = opened
  const batches: (readonly number[])[] = []
  const note = async (items: readonly Item[]): Promise<void> => {
    batches.push(payloads(items))
  }
  const send = async (count: number): Promise<void> => {
    for (const one of upTo(count)) await mill.queues.events.send(one)
  }
  return { ...opened, receives, settles, batches, note, send }
}

describe('a batch', () => {
  test('has all that is ready, up to its size, and is settled in one call', async () => {
    const { mill, settle, batches, note, send, settles } = await scene()
    await send(7)
    const events = batched({ size: 5 }, note)
    started(mill.worker({ poll: ['events'], concurrency: 1, handle: { events } }))
    await settle()
    assert.deepEqual(batches, [
      [1, 2, 3, 4, 5],
      [6, 7],
    ])
    assert.deepEqual(
      settles.map(({ settlements }) => settlements.length),
      [5, 2],
    )
    const { ready, leased } = await mill.queues.events.statistics()
    assert.deepEqual([ready, leased], [0, 0])
  })

  test('waits for further items until its window ends, counted from its first item', async () => {
    const { mill, clock, batches, note } = await scene()
    const events = batched({ size: 5, window: '200ms' }, note)
    started(mill.worker({ poll: ['events'], handle: { events } }))
    await mill.queues.events.send(1)
    await clock.advance(150)
    await mill.queues.events.send(2)
    await clock.advance(49)
    assert.deepEqual(batches, [])
    await clock.advance(1)
    assert.deepEqual(batches, [[1, 2]])
    await mill.queues.events.send(3)
    await clock.advance(199)
    assert.equal(batches.length, 1)
    await clock.advance(1)
    assert.deepEqual(batches, [[1, 2], [3]])
  })

  test('starts at once when it is full', async () => {
    const { mill, settle, batches, note, send } = await scene()
    const events = batched({ size: 3, window: '1m' }, note)
    started(mill.worker({ poll: ['events'], concurrency: 1, handle: { events } }))
    await send(7)
    await settle()
    assert.deepEqual(batches, [
      [1, 2, 3],
      [4, 5, 6],
    ])
  })

  test('takes one slot, and others run beside it', async () => {
    const { mill, settle, batches, send } = await scene()
    await send(12)
    const ends = gate()
    const events = batched({ size: 4 }, async (items) => {
      batches.push(payloads(items))
      await ends.opened
    })
    const worker = started(mill.worker({ poll: ['events'], concurrency: 2, handle: { events } }))
    await settle()
    assert.deepEqual([batches.length, worker.running], [2, 2])
    ends.open()
    await settle()
    assert.deepEqual(
      batches.flat().toSorted((a, b) => a - b),
      upTo(12),
    )
  })

  test('keeps the leases of items that wait, for longer than a visibility timeout', async () => {
    const { mill, clock, batches, note } = await scene()
    const events = batched({ size: 5, window: '2m' }, note)
    started(mill.worker({ poll: ['events'], handle: { events } }))
    await mill.queues.events.send(1)
    await clock.advance(119_000)
    assert.deepEqual(batches, [])
    assert.equal((await mill.queues.events.statistics()).leased, 1)
    await clock.advance(1_000)
    assert.deepEqual(batches, [[1]])
    assert.equal((await mill.queues.events.statistics()).leased, 0)
  })

  test('of items that wait is released when the worker stops, at no cost of an attempt', async () => {
    const { mill, settle, clock, batches, note, send } = await scene()
    const events = batched({ size: 5, window: '1m' }, note)
    const worker = started(mill.worker({ poll: ['events'], handle: { events } }))
    await send(2)
    await settle()
    await withTime(clock, worker.stop())
    assert.deepEqual(batches, [])
    const attempts: number[] = []
    const again = batched({ size: 5 }, async (items) => {
      attempts.push(...items.map(({ attempt }) => attempt))
    })
    await mill.worker({ poll: ['events'], handle: { events: again } }).drain()
    assert.deepEqual(attempts, [1, 1])
  })

  test('does not wait while its worker drains', async () => {
    const { mill, batches, note, send } = await scene()
    await send(7)
    const events = batched({ size: 5, window: '5m' }, note)
    await mill.worker({ poll: ['events'], concurrency: 1, handle: { events } }).drain()
    assert.deepEqual(batches, [
      [1, 2, 3, 4, 5],
      [6, 7],
    ])
  })

  test('that already waits starts when its worker drains', async () => {
    const { mill, settle, batches, note, send } = await scene()
    const events = batched({ size: 5, window: '5m' }, note)
    const worker = started(mill.worker({ poll: ['events'], handle: { events } }))
    await send(2)
    await settle()
    assert.deepEqual(batches, [])
    await worker.drain()
    assert.deepEqual(batches, [[1, 2]])
  })

  test('waits for its claim when the window ends during it', async () => {
    const waiting = gate()
    let hasArrived = false
    let isHeld = false
    const { mill, clock, until } = await openScene(app, {
      wrap: (backend) => ({
        ...backend,
        receive: async (request) => {
          const received = await backend.receive(request)
          if (isHeld && received.length > 0) {
            hasArrived = true
            await waiting.opened
          }
          return received
        },
      }),
    })
    const batches: (readonly number[])[] = []
    const events = batched({ size: 5, window: '200ms' }, async (items) => {
      batches.push(payloads(items))
    })
    started(mill.worker({ poll: ['events'], concurrency: 1, handle: { events } }))
    await mill.queues.events.send(1)
    await clock.advance(100)
    isHeld = true
    await mill.queues.events.send(2)
    await until('the second claim', () => hasArrived)
    await clock.advance(1_000)
    assert.deepEqual(batches, [])
    waiting.open()
    await clock.advance(0)
    assert.deepEqual(batches, [[1, 2]])
  })
})

describe('a queue of jobs', () => {
  test('has batches by type, beside handlers of single jobs', async () => {
    const { mill, clock, settle } = await scene()
    const seen: string[] = []
    const noted =
      (name: string) =>
      async (items: readonly Item[]): Promise<void> => {
        seen.push(`${name} ${payloads(items).join()}`)
      }
    started(
      mill.worker({
        poll: ['work'],
        handle: {
          STORE: batched({ size: 3, window: '1s' }, noted('store')),
          INDEX: batched({ size: 2, window: '2s' }, noted('index')),
          SINGLE: (payload) => void seen.push(`single ${payload}`),
        },
      }),
    )
    for (const one of [1, 2, 3, 4]) {
      await mill.jobs.enqueue('work', 'STORE', one)
      await mill.jobs.enqueue('work', 'SINGLE', one)
    }
    await mill.jobs.enqueue('work', 'INDEX', 9)
    await settle()
    assert.deepEqual(seen.toSorted(), [
      'single 1',
      'single 2',
      'single 3',
      'single 4',
      'store 1,2,3',
    ])
    await clock.advance(1_000)
    assert.equal(seen.at(-1), 'store 4')
    await clock.advance(1_000)
    assert.equal(seen.at(-1), 'index 9')
  })

  test('runs as many items as its ceiling allows, and none that a switch holds', async () => {
    const { mill, settle, batches, note } = await scene()
    for (const one of upTo(8)) await mill.jobs.enqueue('few', 'FEW', one)
    const FEW = batched({ size: 5 }, note)
    await mill.worker({ poll: ['few'], handle: { FEW } }).drain()
    assert.deepEqual(
      batches.map(({ length }) => length),
      [3, 3, 2],
    )
    await mill.switches.hold({ name: 'WORK_PAUSED' }, { by: 'a test' })
    await mill.jobs.enqueue('work', 'STORE', 1)
    const nothing = (): void => undefined
    const handle = { STORE: batched({ size: 5 }, note), INDEX: nothing, SINGLE: nothing }
    started(mill.worker({ poll: ['work'], handle }))
    await settle()
    assert.equal(batches.length, 3)
  })

  test('stores what each item emits and returns with that item', async () => {
    const { mill } = await scene()
    const ids: string[] = []
    for (const one of upTo(3)) ids.push((await mill.jobs.enqueue('work', 'STORE', one)).id)
    const nothing = (): void => undefined
    const STORE = batched({ size: 5 }, (items) =>
      items.map((item) => {
        item.send('out', item.payload * 10)
        return item.payload === 2 ? new Error('not this one') : { stored: item.payload }
      }),
    )
    await mill
      .worker({ poll: ['work'], handle: { STORE, INDEX: nothing, SINGLE: nothing } })
      .drain()
    const found = await Promise.all(ids.map((id) => mill.jobs.get(id)))
    assert.deepEqual(
      found.map((job) => [job?.status, job?.result, job?.error]),
      [
        ['completed', { stored: 1 }, null],
        ['pending', null, 'not this one'],
        ['completed', { stored: 3 }, null],
      ],
    )
    const sent = (await mill.queues.out.peek()).items.map(({ body }) => body)
    assert.deepEqual(sent, ['10', '30'])
  })

  test('keeps the log lines of an item with its job, and logs events for each', async () => {
    const { mill, lines } = await scene()
    const { id } = await mill.jobs.enqueue('few', 'FEW', 1)
    await mill.jobs.enqueue('few', 'FEW', 2)
    const events: WorkerEvent[] = []
    const FEW = batched({ size: 5 }, async (items, { log }) => {
      log.info({ count: items.length }, 'storing')
      items[0]?.log.info({}, 'the first')
    })
    const onEvent = (event: WorkerEvent): void => void events.push(event)
    await mill.worker({ poll: ['few'], handle: { FEW }, onEvent }).drain()
    assert.deepEqual(
      (await mill.jobs.logs(id)).map(({ message }) => message),
      ['the first'],
    )
    const batchLine = lines.find(({ message }) => message === 'storing')
    assert.deepEqual(batchLine?.fields, { queue: 'few', type: 'FEW', count: 2 })
    assert.deepEqual(
      events.map(({ event }) => event),
      ['started', 'started', 'completed', 'completed'],
    )
  })

  test('runs a job alone that may have killed its worker', async () => {
    const { mill, clock, backend, batches, note } = await scene()
    const ids: string[] = []
    for (const one of upTo(3)) {
      ids.push((await mill.jobs.enqueue('few', 'FEW', one, { attempts: 2 })).id)
    }
    // A worker that is killed: its leases lapse.
    const name = mill.queues.few.name
    await backend.receive({ queue: name, max: 3, waitMs: 0, visibilityMs: 1_000 })
    await clock.advance(1_000)
    const FEW = batched({ size: 5, window: '1m' }, note)
    started(mill.worker({ poll: ['few'], handle: { FEW } }))
    await clock.advance(1_000)
    assert.deepEqual(batches.toSorted(), [[1], [2], [3]])
    const found = await Promise.all(ids.map((id) => mill.jobs.get(id)))
    assert.deepEqual(
      found.map((job) => job?.status),
      ['completed', 'completed', 'completed'],
    )
  })
})

describe('a FIFO queue', () => {
  test('has several messages of a group in one batch, and never in two at once', async () => {
    const { mill, settle, clock } = await scene()
    for (const one of upTo(7)) await mill.queues.ordered.send(one, { group: 'a' })
    const seen: (readonly number[])[] = []
    let running = 0
    const ordered = batched({ size: 3 }, async (items) => {
      running += 1
      assert.equal(running, 1)
      seen.push(payloads(items))
      await new Promise<void>((resolve) => clock.after(10, resolve))
      running -= 1
    })
    started(mill.worker({ poll: ['ordered'], concurrency: 5, handle: { ordered } }))
    await settle()
    await clock.advance(100)
    assert.deepEqual(seen, [[1, 2, 3], [4, 5, 6], [7]])
  })

  test('keeps the order of a group when an item fails: those behind it are released', async () => {
    const { mill, clock } = await scene()
    for (const one of [1, 2, 3]) await mill.queues.ordered.send(one, { group: 'a' })
    for (const one of [11, 12]) await mill.queues.ordered.send(one, { group: 'b' })
    const seen: (readonly number[])[] = []
    const attempts: string[] = []
    const ordered = batched({ size: 10 }, (items) => {
      seen.push(payloads(items))
      attempts.push(...items.map(({ payload, attempt }) => `${payload}: ${attempt}`))
      return items.map(({ payload, attempt }) =>
        payload === 2 && attempt === 1 ? new Error('no') : undefined,
      )
    })
    started(mill.worker({ poll: ['ordered'], handle: { ordered } }))
    await clock.advance(60_000)
    assert.deepEqual(
      seen[0]?.toSorted((a, b) => a - b),
      [1, 2, 3, 11, 12],
    )
    assert.deepEqual(seen.slice(1).flat(), [2, 3])
    assert.deepEqual(attempts.slice(5), ['2: 2', '3: 1'])
    assert.equal((await mill.queues.ordered.peek()).items.length, 0)
  })
})

describe('a FIFO group whose batch throws', () => {
  test('has its first message retried, and the others released behind it', async () => {
    const { mill, clock } = await scene()
    for (const one of [1, 2, 3]) await mill.queues.ordered.send(one, { group: 'a' })
    const attempts: string[] = []
    const ordered = batched({ size: 2 }, async (items) => {
      attempts.push(items.map(({ payload, attempt }) => `${payload}: ${attempt}`).join())
      if (attempts.length === 1) throw new Error('no')
    })
    started(mill.worker({ poll: ['ordered'], handle: { ordered } }))
    await clock.advance(60_000)
    assert.deepEqual(attempts, ['1: 1,2: 1', '1: 2,2: 1', '3: 1'])
  })
})

describe('an item', () => {
  test('that does not fit its contract is dead-lettered, and is not part of the batch', async () => {
    const { mill, backend, settle, batches, note } = await scene()
    const messages = ['1', '"two"', '3'].map((body) => ({ body }))
    await backend.send({ queue: mill.queues.events.name, messages })
    const events = batched({ size: 5 }, note)
    started(mill.worker({ poll: ['events'], handle: { events } }))
    await settle()
    assert.deepEqual(batches, [[1, 3]])
    const letters = await mill.queues.events.deadLetters?.peek()
    assert.deepEqual(
      letters?.items.map(({ body }) => body),
      ['"two"'],
    )
  })

  test('that is cancelled aborts its own signal, and does not stop the others', async () => {
    const { mill, clock, settle } = await scene()
    const first = await mill.jobs.enqueue('few', 'FEW', 1)
    const second = await mill.jobs.enqueue('few', 'FEW', 2)
    const kinds: unknown[] = []
    const events: string[] = []
    const FEW = batched({ size: 2 }, async ([one, two], context) => {
      if (one === undefined || two === undefined) return
      kinds.push(await aborted(one.signal))
      kinds.push(two.signal.aborted, context.signal.aborted)
    })
    started(
      mill.worker({
        poll: ['few'],
        handle: { FEW },
        onEvent: ({ event, id }) => events.push(`${event} ${id === first.id ? 1 : 2}`),
      }),
    )
    await settle()
    await mill.jobs.cancel(first.id)
    await clock.advance(2_000)
    assert.match(String(kinds[0]), /cancelled/)
    assert.deepEqual(kinds.slice(1), [false, false])
    assert.equal((await mill.jobs.get(first.id))?.status, 'cancelled')
    assert.equal((await mill.jobs.get(second.id))?.status, 'completed')
    assert.deepEqual(events.toSorted(), ['cancelled 1', 'completed 2', 'started 1', 'started 2'])
  })

  test('whose lease was lost while it waited is not handled', async () => {
    const { mill, clock, batches, note } = await scene()
    const { id } = await mill.jobs.enqueue('few', 'FEW', 1)
    await mill.jobs.enqueue('few', 'FEW', 2)
    const FEW = batched({ size: 5, window: '10s' }, note)
    started(mill.worker({ poll: ['few'], handle: { FEW } }))
    await clock.advance(1_000)
    await mill.jobs.cancel(id)
    await clock.advance(9_000)
    assert.deepEqual(batches, [[2]])
  })
})

describe('a batch that should stop', () => {
  test('is aborted after the timeout of its type, and each item is retried', async () => {
    const { mill, clock, settle } = await scene()
    const ids: string[] = []
    for (const one of [1, 2]) ids.push((await mill.jobs.enqueue('work', 'STORE', one)).id)
    const reasons: unknown[] = []
    const nothing = (): void => undefined
    const STORE = batched({ size: 2 }, async (items, { signal }) => {
      reasons.push(await aborted(signal), items[1]?.signal.aborted)
      throw new Error('stopped')
    })
    started(mill.worker({ poll: ['work'], handle: { STORE, INDEX: nothing, SINGLE: nothing } }))
    await settle()
    await clock.advance(10_000)
    assert.match(String(reasons[0]), /exceeded its timeout/)
    assert.equal(reasons[1], true)
    const found = await Promise.all(ids.map((id) => mill.jobs.get(id)))
    assert.deepEqual(
      found.map((job) => [job?.status, job?.error]),
      Array(2).fill(['pending', 'The handler exceeded its timeout.']),
    )
  })

  test('is released when it does not end in time after a stop', async () => {
    const { mill, clock, settle, send } = await scene()
    await send(3)
    const events = batched({ size: 3 }, () => new Promise<void>(() => undefined))
    const worker = started(mill.worker({ poll: ['events'], handle: { events }, stopTimeout: '1s' }))
    await settle()
    await withTime(clock, worker.stop())
    assert.equal((await mill.queues.events.statistics()).ready, 3)
  })
})
