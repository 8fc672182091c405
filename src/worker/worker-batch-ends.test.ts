import assert from 'node:assert/strict'
import { describe, test } from 'vitest'
import { z } from 'zod'
import { openScene, withTime } from '../../test/support/worker-scene.ts'
import type { Backend } from '../backends/backend.ts'
import { type BatchReturn, type BatchRun, batch } from '../contracts/batch-handler.ts'
import { chain } from '../contracts/chain-declaration.ts'
import { defineApp } from '../contracts/define-app.ts'
import { deadLetter, release, retryIn, UnrecoverableError } from '../contracts/handler-outcome.ts'
import { jobs } from '../contracts/jobs-declaration.ts'
import { MillraceError } from '../core/millrace-error.ts'
import type { HandlerContext } from './handler-context.ts'
import type { Middleware } from './middleware.ts'
import type { WorkerEvent } from './worker-event.ts'

const Card = z.object({ card: z.string() })

const app = defineApp('ends', {
  queues: {
    work: jobs({
      types: {
        STORE: {
          schema: Card,
          result: z.object({ row: z.number() }),
          personal: ['card'],
          attempts: 2,
        },
        NEXT: z.unknown(),
      },
      backoff: { from: '5s', jitter: 0 },
      deadLetter: {},
    }),
  },
  chains: {
    twice: chain({
      steps: [
        { name: 'store', queue: 'work', type: 'STORE' },
        { name: 'next', queue: 'work', type: 'NEXT' },
      ],
    }),
  },
})
type Context = HandlerContext<(typeof app)['queues'], typeof app>
type Run = BatchRun<{ readonly card: string }, unknown, Context>

interface Ended {
  readonly jobs: readonly (readonly [string, string | null])[]
  readonly events: readonly WorkerEvent[]
  readonly lines: string
}

/** Three jobs that a worker runs in one batch. */
async function ended(
  run: Run,
  use: readonly Middleware[] = [],
  wrap: (backend: Backend) => Backend = (backend) => backend,
): Promise<Ended> {
  const { mill, clock, lines } = await openScene(app, { wrap })
  const ids: string[] = []
  for (const card of ['4111-a', '4111-b', '4111-c']) {
    ids.push((await mill.jobs.enqueue('work', 'STORE', { card })).id)
  }
  const events: WorkerEvent[] = []
  const STORE = batch<{ readonly card: string }, never, Context>({ size: 10 }, run as never)
  const onEvent = (event: WorkerEvent): void => void events.push(event)
  const handle = { STORE, NEXT: () => 1 }
  await withTime(clock, mill.worker({ poll: ['work'], handle, use, onEvent }).drain())
  const found = await Promise.all(ids.map((id) => mill.jobs.get(id)))
  return {
    jobs: found.map((job) => [job?.status ?? '', job?.error ?? null] as const),
    events,
    lines: JSON.stringify(lines),
  }
}

const completed = ['completed', null] as const

describe('a batch handler', () => {
  test('that returns nothing fails items whose type requires a result', async () => {
    const { jobs } = await ended(async () => undefined)
    assert.deepEqual(
      jobs.map(([status]) => status),
      ['pending', 'pending', 'pending'],
    )
  })

  test('that returns an array ends each item in its own way', async () => {
    const { jobs, events } = await ended((items) => [
      { row: items.length },
      new Error('not stored'),
      deadLetter('no such account'),
    ])
    assert.deepEqual(jobs, [completed, ['pending', 'not stored'], ['failed', 'no such account']])
    const ends = events.filter(({ event }) => event !== 'started')
    assert.deepEqual(
      ends.map(({ event, retryInMs }) => [event, retryInMs]),
      [
        ['completed', null],
        ['retried', 5_000],
        ['failed', null],
      ],
    )
    assert.ok(ends[1]?.cause instanceof Error)
  })

  test.each<[string, () => BatchReturn<unknown>, readonly string[]]>([
    [
      'retryIn and UnrecoverableError',
      () => [retryIn('1m', 'later'), new UnrecoverableError('never'), { row: 1 }],
      ['pending later', 'failed never', 'completed null'],
    ],
    [
      'a result that does not fit',
      () => [{ row: 1 }, { row: 'two' }, { row: 3 }],
      ['completed null', 'pending result.row: got a string, expected number', 'completed null'],
    ],
    [
      'promises, some of which reject',
      () => [
        Promise.resolve({ row: 1 }),
        Promise.reject(new Error('no')),
        Promise.reject('only a text'),
      ],
      ['completed null', 'pending no', 'pending only a text'],
    ],
  ])('ends its items by %s', async (_, end, expected) => {
    const { jobs } = await ended(end)
    assert.deepEqual(
      jobs.map(([status, error]) => `${status} ${error}`),
      expected,
    )
  })

  test('that throws fails all, each by its own attempts', async () => {
    const { jobs, events } = await ended(async () => {
      throw new Error('the database is down')
    })
    assert.deepEqual(jobs, Array(3).fill(['pending', 'the database is down']))
    assert.deepEqual(
      events.slice(3).map(({ event, attempt, retryInMs }) => [event, attempt, retryInMs]),
      Array(3).fill(['retried', 1, 5_000]),
    )
    const stack = events.at(-1)?.failure?.stack ?? ''
    assert.doesNotMatch(stack, /Runner/)
  })

  test('that returns one outcome gives it to all', async () => {
    const { jobs } = await ended(() => deadLetter('closed'))
    assert.deepEqual(jobs, Array(3).fill(['failed', 'closed']))
  })

  test.each<[string, unknown, string]>([
    ['too few ends', [{ row: 1 }], 'got an array of length 1'],
    ['too many ends', [1, 2, 3, 4], 'got an array of length 4'],
    ['something else', { row: 1 }, 'got a value of type object'],
  ])('that returns %s fails all, because the meaning is unclear', async (_, value, given) => {
    const { jobs, events } = await ended(() => value as never)
    for (const [status, error] of jobs) {
      assert.equal(status, 'pending')
      assert.equal(
        error,
        `the result of the batch handler: ${given}, expected nothing, one outcome for all items, or an array of length 3 with one result, outcome or error per item`,
      )
    }
    assert.ok(events.at(-1)?.cause instanceof MillraceError)
  })

  test('shows no secret of any item, in no error and in no line', async () => {
    const { jobs, lines } = await ended((items, { log }) => {
      const cards = items.map(({ payload }) => payload.card).join()
      log.info({ cards }, `storing ${cards}`)
      items[0]?.log.info({}, `with ${cards}`)
      throw new Error(`cannot store ${cards}`)
    })
    assert.doesNotMatch(JSON.stringify(jobs), /4111/)
    assert.doesNotMatch(lines, /4111/)
    assert.match(jobs[0]?.[1] ?? '', /cannot store/)
  })

  test('runs inside middleware once, with a context that has the items', async () => {
    const seen: unknown[] = []
    const { jobs } = await ended(
      (items) => items.map(() => ({ row: 1 })),
      [
        async (context, next) => {
          seen.push(context.queue, context.type, context.id, context.items?.length)
          return next()
        },
      ],
    )
    assert.deepEqual(seen, ['work', 'STORE', undefined, 3])
    assert.deepEqual(jobs, Array(3).fill(completed))
  })

  test('fails one item if the store refuses what it emitted, and not the others', async () => {
    const { jobs } = await ended((items) => {
      items[1]?.within(() => {
        throw new Error('no such table')
      })
      return items.map(() => ({ row: 1 }))
    })
    assert.deepEqual(jobs, [completed, ['pending', 'no such table'], completed])
  })

  test('is settled when the store works again', async () => {
    let failures = 2
    const { jobs } = await ended(
      (items) => items.map(() => ({ row: 1 })),
      [],
      (backend) => ({
        ...backend,
        settle: async (request) => {
          failures -= 1
          if (failures >= 0) throw new MillraceError('store_busy')
          return backend.settle(request)
        },
      }),
    )
    assert.deepEqual(jobs, Array(3).fill(completed))
  })

  test('that releases all costs no attempt', async () => {
    let runs = 0
    const attempts: number[] = []
    const { jobs } = await ended((items) => {
      runs += 1
      attempts.push(...items.map(({ attempt }) => attempt))
      return runs === 1 ? release() : items.map(() => ({ row: 1 }))
    })
    assert.deepEqual(jobs, Array(3).fill(completed))
    assert.deepEqual(attempts, Array(6).fill(1))
  })

  test('marks the step of a chain with each item', async () => {
    const { mill } = await openScene(app)
    const chains = ['a', 'b']
    for (const id of chains) await mill.chains.twice.start(id, { card: id })
    const nexts: unknown[] = []
    const STORE = batch<{ readonly card: string }, { row: number }, Context>(
      { size: 10 },
      (items) =>
        items.map(({ payload, unit }) => {
          assert.equal(unit?.id, payload.card)
          return payload.card === 'b' ? new UnrecoverableError('no') : { row: 1 }
        }),
    )
    await mill.worker({ poll: ['work'], handle: { STORE, NEXT: (row) => nexts.push(row) } }).drain()
    assert.deepEqual(nexts, [{ row: 1 }])
  })
})
