/** `lambdaHandler` with a store: a function does what a worker does, and settles by the receipt of its record. */
import assert from 'node:assert/strict'
import type { SQSRecord } from 'aws-lambda'
import { describe, expectTypeOf, onTestFinished, test } from 'vitest'
import { z } from 'zod'
import type { Backend } from '../../src/backends/backend.ts'
import { openSqlite } from '../../src/backends/sqlite/index.ts'
import {
  collector,
  deadLetter,
  defineApp,
  type FailedRecord,
  fifo,
  flow,
  jobs,
  lambdaHandler,
  type Mill,
  open,
  queue,
  retryIn,
  type StoreHandlerOptions,
  triggers,
} from '../../src/index.ts'
import { type VirtualPorts, virtualPorts } from '../../src/testing/virtual-clock.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { invoke, lambdaContext, recordsOf } from './function-scene.ts'

const press = defineApp('press', {
  queues: {
    pages: queue({ schema: z.object({ page: z.number() }), deadLetter: { after: 2 } }),
    books: queue({ schema: z.object({ book: z.string() }) }),
    lines: fifo({
      schema: z.object({ n: z.number() }),
      deduplication: 'content',
      deadLetter: { after: 5 },
    }),
    work: jobs({
      types: {
        PRINT: {
          schema: z.object({ copies: z.number() }),
          result: z.object({ sheets: z.number() }),
        },
        BIND: { schema: z.object({}), run: async () => 'bound' },
      },
      attempts: 2,
    }),
    windows: triggers(),
  },
  flows: { printing: flow({ units: 'pages', finalize: 'books' }) },
  collectors: {
    orders: collector({
      schema: z.object({ book: z.string(), id: z.string() }),
      key: ({ book }) => book,
      id: ({ id }) => id,
      window: '1s',
      triggers: 'windows',
      targets: ['books'],
      merge: (_, key) => ({ book: key }),
    }),
  },
  budgets: { paper: { limit: 10, per: '1d', trips: 'PAPER_OUT' } },
})

interface Shop {
  readonly mill: Mill<typeof press>
  readonly ports: VirtualPorts
  readonly backend: Backend
  readonly failures: FailedRecord[]
  readonly options: StoreHandlerOptions
  /** What an event source would pass on. */
  receive(queue: keyof typeof press.queues, max?: number): Promise<readonly SQSRecord[]>
}

async function openShop(): Promise<Shop> {
  const folder = await temporaryFolder('functions')
  const ports = virtualPorts()
  const backend = await openSqlite({ file: folder.file('millrace.db'), ports })
  const mill = await open(press, { backend, ports, onNotice: () => undefined })
  onTestFinished(async () => {
    await mill.close()
    await backend.close()
    await folder.remove()
  })
  const failures: FailedRecord[] = []
  const onFailure = (failure: FailedRecord): void => void failures.push(failure)
  return {
    mill,
    ports,
    backend,
    failures,
    options: { store: { backend, ports }, onFailure, ports },
    async receive(key, max = 10) {
      const { name } = mill.queues[key]
      return recordsOf(await backend.receive({ queue: name, max, waitMs: 0 }), name)
    },
  }
}

describe('messages', () => {
  test('are settled with what their handler emits, in one commit', async () => {
    const { mill, options, receive } = await openShop()
    await mill.queues.pages.send({ page: 1 })
    const handler = lambdaHandler(
      press,
      'pages',
      async ({ page }, context) => {
        expectTypeOf(page).toEqualTypeOf<number>()
        assert.equal(context.record.messageId, context.id)
        assert.equal(context.lambda.awsRequestId, 'request-1')
        context.send('books', { book: `b${page}` })
        await context.spend('paper', 4)
      },
      options,
    )
    const records = await receive('pages')
    assert.deepEqual(await invoke(handler, records), [])
    const { ready, leased } = await mill.queues.pages.statistics()
    assert.deepEqual([ready, leased], [0, 0])
    assert.equal((await mill.queues.books.statistics()).ready, 1)
    assert.equal((await mill.budgets.read('paper')).spent, 4)
    // The event source delivers the same batch once more: the receipt is no longer good, so nothing runs.
    assert.deepEqual(await invoke(handler, records), [records[0]?.messageId])
    assert.equal((await mill.queues.books.statistics()).ready, 1)
  })

  test('that fail emit nothing, wait for their backoff and are dead-lettered at last', async () => {
    const { mill, ports, options, failures, receive } = await openShop()
    await mill.queues.pages.send({ page: 1 })
    const handler = lambdaHandler(
      press,
      'pages',
      (_, context) => {
        context.send('books', { book: 'never' })
        throw new Error('jam')
      },
      options,
    )
    const [first] = await receive('pages')
    assert.ok(first)
    assert.deepEqual(await invoke(handler, [first]), [first.messageId])
    assert.deepEqual(await receive('pages'), [])
    await ports.clock.advance('1m')
    const second = await receive('pages')
    assert.equal(second.length, 1)
    // It is in the dead-letter queue, so there is nothing to deliver again.
    assert.deepEqual(await invoke(handler, second), [])
    assert.equal((await mill.queues.pages.deadLetters.statistics()).ready, 1)
    assert.equal((await mill.queues.books.statistics()).ready, 0)
    assert.deepEqual(
      failures.map(({ why, summary }) => [why, summary]),
      [
        ['threw', 'jam'],
        ['threw', 'jam'],
      ],
    )
  })

  test('whose body does not fit are dead-lettered at once', async () => {
    const { mill, backend, options, failures, receive } = await openShop()
    const { name } = mill.queues.pages
    await backend.send({ queue: name, messages: [{ body: '{"page":"x"}' }] })
    const handler = lambdaHandler(press, 'pages', () => assert.fail(), options)
    assert.deepEqual(await invoke(handler, await receive('pages')), [])
    assert.equal((await mill.queues.pages.deadLetters.statistics()).ready, 1)
    assert.deepEqual(
      failures.map(({ why }) => why),
      ['unreadable'],
    )
  })

  test('can be retried later or dead-lettered by their handler', async () => {
    const { mill, ports, options, receive } = await openShop()
    await mill.queues.pages.sendMany([{ page: 1 }, { page: 2 }])
    const handler = lambdaHandler(
      press,
      'pages',
      ({ page }) => (page === 1 ? retryIn('10m') : deadLetter('torn')),
      options,
    )
    const records = await receive('pages')
    assert.deepEqual(await invoke(handler, records), [records[0]?.messageId])
    assert.equal((await mill.queues.pages.deadLetters.statistics()).ready, 1)
    await ports.clock.advance('9m')
    assert.deepEqual(await receive('pages'), [])
    await ports.clock.advance('1m')
    assert.equal((await receive('pages')).length, 1)
  })
})

describe('flows and collectors', () => {
  test('a unit is marked by its settlement, and the last one finalizes', async () => {
    const { mill, options, receive } = await openShop()
    await mill.flows.printing.open('b', {
      units: [1, 2].map((page) => ({ id: `p${page}`, message: { page } })),
      finalize: { message: { book: 'b' } },
    })
    const units: unknown[] = []
    const handler = lambdaHandler(
      press,
      'pages',
      (_, { unit }) => void units.push(unit?.unit),
      options,
    )
    const records = await receive('pages')
    assert.deepEqual(await invoke(handler, records.slice(0, 1)), [])
    assert.equal((await mill.queues.books.statistics()).ready, 0)
    assert.deepEqual(await invoke(handler, records.slice(1)), [])
    assert.equal((await mill.flows.printing.read('b'))?.status, 'finalized')
    assert.equal((await mill.queues.books.statistics()).ready, 1)
    assert.deepEqual(units, ['p1', 'p2'])
  })

  test('a function of the triggers merges the items', async () => {
    const { mill, ports, options, receive } = await openShop()
    await mill.collectors.orders.add({ book: 'b', id: '1' })
    await mill.collectors.orders.add({ book: 'b', id: '2' })
    await ports.clock.advance('1s')
    const handler = lambdaHandler(press, 'windows', null, options)
    assert.deepEqual(await invoke(handler, await receive('windows')), [])
    assert.equal((await mill.queues.books.statistics()).ready, 1)
  })
})

describe('jobs', () => {
  test('are completed with their result, by the handler of their type or their own', async () => {
    const { mill, options, receive } = await openShop()
    const print = await mill.jobs.enqueue('work', 'PRINT', { copies: 3 })
    const bind = await mill.jobs.enqueue('work', 'BIND', {})
    const handler = lambdaHandler(
      press,
      'work',
      {
        PRINT: async ({ copies }, context) => {
          await context.progress(0.5)
          context.enqueue('work', 'BIND', {})
          return { sheets: copies * 2 }
        },
      },
      options,
    )
    assert.deepEqual(await invoke(handler, await receive('work')), [])
    const [printed, bound] = [await mill.jobs.get(print.id), await mill.jobs.get(bind.id)]
    assert.deepEqual([printed?.status, printed?.result], ['completed', { sheets: 6 }])
    assert.deepEqual([bound?.status, bound?.result], ['completed', 'bound'])
    assert.equal((await mill.queues.work.statistics()).ready, 1)
  })

  test('that fail keep their error and use up their attempts', async () => {
    const { mill, ports, options, receive } = await openShop()
    const { id } = await mill.jobs.enqueue('work', 'PRINT', { copies: 1 })
    const handler = lambdaHandler(
      press,
      'work',
      {
        PRINT: () => {
          throw new Error('jam')
        },
      },
      options,
    )
    assert.deepEqual(await invoke(handler, await receive('work')), [id])
    const waiting = await mill.jobs.get(id)
    assert.deepEqual([waiting?.status, waiting?.error], ['pending', 'jam'])
    await ports.clock.advance('1m')
    assert.deepEqual(await invoke(handler, await receive('work')), [])
    assert.equal((await mill.jobs.get(id))?.status, 'failed')
  })
})

describe('a FIFO queue', () => {
  test('releases what stands behind a failure, without a receive', async () => {
    const { mill, ports, options, receive } = await openShop()
    await mill.queues.lines.sendMany([{ n: 1 }, { n: 2 }, { n: 3 }], { group: 'a' })
    const seen: number[] = []
    let isBroken = true
    const handler = lambdaHandler(
      press,
      'lines',
      ({ n }) => {
        if (n === 2 && isBroken) throw new Error('no')
        seen.push(n)
      },
      options,
    )
    const records = await receive('lines')
    assert.deepEqual(
      await invoke(handler, records),
      records.slice(1).map((one) => one.messageId),
    )
    assert.deepEqual(await receive('lines'), [])
    isBroken = false
    await ports.clock.advance('1m')
    const again = await receive('lines')
    assert.deepEqual(
      again.map(({ attributes }) => attributes.ApproximateReceiveCount),
      ['2', '1'],
    )
    assert.deepEqual(await invoke(handler, again), [])
    assert.deepEqual(seen, [1, 2, 3])
  })
})

describe('the time of the function', () => {
  test('ends: a handler that ignores it is abandoned and retried, and the rest is released', async () => {
    const { mill, ports, options, receive } = await openShop()
    await mill.queues.pages.sendMany([{ page: 1 }, { page: 2 }])
    const endsAt = ports.clock.monotonic() + 5_000
    const handler = lambdaHandler(
      press,
      'pages',
      async () => {
        await new Promise(() => undefined)
      },
      { ...options, concurrency: 1 },
    )
    const records = await receive('pages')
    const context = lambdaContext(() => endsAt - ports.clock.monotonic())
    const invoked = invoke(handler, records, context)
    await ports.clock.advance(4_600)
    assert.deepEqual(
      await invoked,
      records.map(({ messageId }) => messageId),
    )
    // The second one was released, so it is ready at once.
    assert.deepEqual(
      (await receive('pages')).map(({ messageId }) => messageId),
      [records[1]?.messageId],
    )
  })
})

describe('a function that cannot use its store', () => {
  test.each<readonly [string, (shop: Shop) => StoreHandlerOptions, RegExp]>([
    ['without a store', () => ({ store: true }), /neither MILLRACE_STORE nor MILLRACE_DATA is set/],
    [
      'with the queues of another stage',
      ({ backend }) => ({ store: { backend, stage: 'prod' } }),
      /has no queue 'press-prod-pages'.*MILLRACE_STAGE/s,
    ],
    ['with an unknown option', () => ({ store: Object({ folder: 'x' }) }), /store\.folder/],
  ])('%s fails with the reason, and runs nothing', async (_, optionsOf, text) => {
    const shop = await openShop()
    await shop.mill.queues.pages.send({ page: 1 })
    const handler = lambdaHandler(press, 'pages', () => assert.fail(), optionsOf(shop))
    await assert.rejects(invoke(handler, await shop.receive('pages')), text)
  })

  test('with a batch from another queue fails as a whole', async () => {
    const shop = await openShop()
    await shop.mill.queues.books.send({ book: 'b' })
    const handler = lambdaHandler(press, 'pages', () => assert.fail(), shop.options)
    const batch = await shop.receive('books')
    await assert.rejects(invoke(handler, batch), /comes from the queue 'press-dev-books'/)
  })
})
