import assert from 'node:assert/strict'
import { describe, test } from 'vitest'
import { z } from 'zod'
import { bodiesOf } from '../../test/support/bodies-of.ts'
import { gate, openScene, started } from '../../test/support/worker-scene.ts'
import type { NewJob } from '../backends/job-store.ts'
import { defineApp } from '../contracts/define-app.ts'
import { deadLetter, release, retryIn, UnrecoverableError } from '../contracts/handler-outcome.ts'
import { jobs } from '../contracts/jobs-declaration.ts'
import { fifo, type MessageSchema, queue } from '../contracts/queue-declaration.ts'
import type { HandlerContext } from './handler-context.ts'

const Frame = z.object({ video: z.number() })

const app = defineApp('studio', {
  queues: {
    frames: queue({
      schema: Frame,
      deadLetter: { after: 3 },
      backoff: { from: '2s', factor: 2, jitter: 0 },
    }),
    notes: queue({ backoff: { from: '2s', factor: 1, jitter: 0 } }),
    orders: fifo({ deduplication: 'content', visibilityTimeout: '1m' }),
    basic: jobs({ types: { OCR: Frame, OMR: Frame }, deadLetter: {} }),
    lite: jobs({ types: { OCR: Frame, OMR: Frame }, deadLetter: {} }),
  },
  tiers: {
    basic: { queue: 'basic', allows: ['OCR', 'OMR'] },
    lite: { queue: 'lite', allows: ['OCR'] },
    gold: { queue: 'basic', allows: ['OMR'] },
  },
})

const nothing = (): void => undefined

describe('a queue of plain messages', () => {
  test('counts receives as attempts, and waits between them', async () => {
    const { mill, clock, until } = await openScene(app)
    const seen: unknown[][] = []
    const frames = async (
      message: { readonly video: number },
      { attempt, maxAttempts, type, id }: HandlerContext<(typeof app)['queues']>,
    ): Promise<void> => {
      seen.push([clock.now() - from, message.video, type, attempt, maxAttempts, id])
      throw new Error('no decoder')
    }
    const from = clock.now()
    started(mill.worker({ poll: ['frames'], handle: { frames } }))
    const { id } = await mill.queues.frames.send({ video: 7 })
    await until('one', () => seen.length === 1)
    await clock.advance(10_000)
    assert.deepEqual(seen, [
      [0, 7, null, 1, 3, id],
      [2_000, 7, null, 2, 3, id],
      [6_000, 7, null, 3, 3, id],
    ])
    // With its last receive it is a dead letter: that needs no further receive.
    const letters = await mill.queues.frames.deadLetters?.peek()
    assert.deepEqual(
      letters?.items.map(({ deadLetterOrigin: origin }) => origin?.reason),
      ['no decoder'],
    )
  })

  test.each([
    ['deadLetter', () => deadLetter('broken file'), 'broken file'],
    ['an UnrecoverableError', () => assert.ok(false, new UnrecoverableError('no file')), 'no file'],
  ])('has a dead letter at once after %s', async (_, end, reason) => {
    const { mill, settle } = await openScene(app)
    started(mill.worker({ poll: ['frames'], handle: { frames: end } }))
    await mill.queues.frames.send({ video: 7 })
    await settle()
    const letters = await mill.queues.frames.deadLetters?.peek()
    assert.deepEqual(
      letters?.items.map(({ deadLetterOrigin: origin }) => origin?.reason),
      [reason],
    )
  })

  test('without dead letters tries again for ever, whatever the handler says', async () => {
    const { mill, clock } = await openScene(app)
    const ends = [() => deadLetter('no'), () => assert.ok(false, new UnrecoverableError('no'))]
    let runs = 0
    started(
      mill.worker({
        poll: ['notes'],
        handle: {
          notes: () => {
            runs += 1
            return ends.at(runs % 2)?.()
          },
        },
      }),
    )
    await mill.queues.notes.send('a note')
    await clock.advance(20_000)
    assert.equal(runs, 11)
    const { leased, ready } = await mill.queues.notes.statistics()
    assert.equal(leased + ready, 1)
  })

  test('dead-letters what does not fit its contract, without having met a handler', async () => {
    const { mill, backend, settle, lines } = await openScene(app)
    let runs = 0
    const frames = (): void => {
      runs += 1
    }
    started(mill.worker({ poll: ['frames'], handle: { frames } }))
    const bodies = ['{"video":"seven"}', 'no json']
    const messages = bodies.map((body) => ({ body }))
    await backend.send({ queue: mill.queues.frames.name, messages })
    await settle()
    const letters = (await mill.queues.frames.deadLetters?.peek())?.items ?? []
    assert.deepEqual(
      letters.map(({ body, deadLetterOrigin: origin }) => [body, origin?.reason]),
      [
        ['{"video":"seven"}', 'invalid_message: message.video: got a string, expected number'],
        ['no json', 'invalid_message: message: got a body that is not JSON, expected JSON'],
      ],
    )
    assert.equal(runs, 0)
    assert.deepEqual(
      lines.map(({ level, message }) => [level, message]),
      [
        ['error', 'message refused'],
        ['error', 'message refused'],
      ],
    )
  })

  test('is served like any other when a schema is to blame and not the message', async () => {
    let moods = 0
    const validate = (): { readonly value: string } => {
      moods += 1
      if (moods === 2) throw new Error('the schema is out of sorts')
      return { value: 'fine' }
    }
    const Moody: MessageSchema = { '~standard': { version: 1, vendor: 'moody', validate } }
    const moody = defineApp('moody', {
      queues: { talk: queue({ schema: Moody, backoff: { from: '2s', jitter: 0 } }) },
    })
    const { mill, clock } = await openScene(moody)
    const seen: unknown[] = []
    started(mill.worker({ poll: ['talk'], handle: { talk: (message) => seen.push(message) } }))
    await mill.queues.talk.send('hello')
    await clock.advance(1_000)
    assert.deepEqual(seen, [])
    await clock.advance(1_000)
    assert.deepEqual(seen, ['fine'])
  })
})

describe('a FIFO queue', () => {
  test('keeps the order of each group, with room for ten at once', async () => {
    const { mill, clock } = await openScene(app)
    const seen: string[] = []
    const running = new Map<string, number>()
    let most = 0
    let overlaps = 0
    const orders = async (message: unknown, { tenant }: { readonly tenant: string | null }) => {
      const group = String(tenant)
      overlaps += running.get(group) ?? 0
      running.set(group, 1)
      most = Math.max(most, [...running.values()].filter(Boolean).length)
      await new Promise<void>((resolve) => clock.after((seen.length % 3) * 10 + 5, resolve))
      running.set(group, 0)
      seen.push(String(message))
      // Every third is tried twice, and holds up its own group alone.
      return seen.length % 3 === 0 && !String(message).endsWith('!') ? retryIn('1s') : undefined
    }
    started(mill.worker({ poll: ['orders'], concurrency: 10, handle: { orders } }))
    const sent: string[] = []
    for (let number = 0; number < 5; number += 1) {
      for (const group of ['a', 'b', 'c', 'd']) {
        sent.push(`${group}${number}`)
        await mill.queues.orders.send(`${group}${number}`, { group })
      }
    }
    await clock.advance(60_000)
    for (const group of ['a', 'b', 'c', 'd']) {
      const last = [...new Set(seen.filter((one) => one.startsWith(group)))]
      assert.deepEqual(
        last,
        sent.filter((one) => one.startsWith(group)),
      )
    }
    assert.ok(seen.length > sent.length)
    assert.deepEqual([most, overlaps], [4, 0])
    assert.deepEqual(await mill.queues.orders.peek().then(({ items }) => items), [])
  })

  test('hands a message back to the front of its group', async () => {
    const { mill, settle } = await openScene(app)
    const seen: unknown[] = []
    const orders = (message: unknown): unknown => {
      seen.push(message)
      return seen.length === 1 ? release() : undefined
    }
    await mill.queues.orders.send('first', { group: 'a' })
    await mill.queues.orders.send('second', { group: 'a' })
    started(mill.worker({ poll: ['orders'], handle: { orders } }))
    await settle()
    assert.deepEqual(seen, ['first', 'first', 'second'])
  })
})

describe('a job before it is run', () => {
  const enqueueRaw = async (
    job: Partial<NewJob>,
    key: 'basic' | 'lite' = 'basic',
  ): Promise<{ readonly runs: number; readonly status?: string; readonly error?: unknown }> => {
    const scene = await openScene(app)
    const { mill, backend, settle } = scene
    let runs = 0
    const count = (): void => {
      runs += 1
    }
    started(mill.worker({ poll: ['basic', 'lite'], handle: { OCR: count, OMR: count } }))
    const plain = { type: 'OCR', payload: '{"video":1}', maxAttempts: 3 }
    const name = mill.queues[key].name
    const [enqueued] =
      (await backend.jobs?.enqueue({ queue: name, jobs: [{ ...plain, ...job }] })) ?? []
    await settle()
    const { status, error } = (await mill.jobs.get(enqueued?.id ?? '')) ?? {}
    const dead = mill.queues[key].deadLetters?.name ?? ''
    assert.equal((await bodiesOf(backend, dead)).length, status === 'failed' ? 1 : 0)
    return { runs, ...(status && { status }), error }
  }

  test('is dead-lettered at once when its payload does not fit', async () => {
    const error = 'invalid_message: message.video: got a string, expected number'
    assert.deepEqual(await enqueueRaw({ payload: '{"video":"one"}' }), {
      runs: 0,
      status: 'failed',
      error,
    })
  })

  test('is dead-lettered at once when its queue has no such type', async () => {
    const error = "The queue has no job type 'constructor'."
    assert.deepEqual(await enqueueRaw({ type: 'constructor' }), {
      runs: 0,
      status: 'failed',
      error,
    })
  })

  test.each([
    [{ type: 'OMR' }, 'lite', "The tier 'lite' runs OCR, but not 'OMR'."],
    [{ type: 'OCR', tier: 'lite' }, 'basic', "The tier 'lite' is served by 'lite', not 'basic'."],
    [{ type: 'OCR', tier: 'gold' }, 'basic', "The tier 'gold' runs OMR, but not 'OCR'."],
    [{ type: 'OCR', tier: 'iron' }, 'basic', "The app has no tier 'iron'."],
  ] as const)(
    'is dead-lettered when it sits in the queue of another tier: %j in %s',
    async (job, key, error) => {
      assert.deepEqual(await enqueueRaw(job, key), { runs: 0, status: 'failed', error })
    },
  )

  test.each([
    [{ type: 'OMR', tier: 'gold' }, 'basic'],
    [{ type: 'OMR' }, 'basic'],
    [{ type: 'OCR', tier: 'basic' }, 'basic'],
    [{ type: 'OCR', tier: 'lite' }, 'lite'],
  ] as const)('is run when its tier may: %j in %s', async (job, key) => {
    assert.deepEqual(await enqueueRaw(job, key), { runs: 1, status: 'completed', error: null })
  })

  test('is dead-lettered when it is a message among jobs', async () => {
    const { mill, backend, settle } = await openScene(app)
    const handle = { OCR: nothing, OMR: nothing }
    started(mill.worker({ poll: ['basic'], handle }))
    await backend.send({ queue: mill.queues.basic.name, messages: [{ body: '{"video":1}' }] })
    await settle()
    const letters = await mill.queues.basic.deadLetters?.peek()
    assert.deepEqual(
      letters?.items.map(({ deadLetterOrigin: origin }) => origin?.reason),
      ['The message is not a job, but the queue is a jobs queue. Enqueue jobs with mill.jobs.'],
    )
  })
})

describe('one worker for several queues', () => {
  test('runs jobs and messages side by side', async () => {
    const { mill, settle } = await openScene(app)
    const done = gate()
    const seen: string[] = []
    started(
      mill.worker({
        poll: ['basic', 'frames', 'orders'],
        handle: {
          OCR: async () => {
            seen.push('job')
            await done.opened
          },
          OMR: nothing,
          frames: ({ video }) => void seen.push(`frame ${video}`),
          orders: (order) => void seen.push(String(order)),
        },
      }),
    )
    await mill.jobs.enqueue('basic', 'OCR', { video: 1 })
    await settle()
    await mill.queues.frames.send({ video: 2 })
    await mill.queues.orders.send('order', { group: 'a' })
    await settle()
    assert.deepEqual(seen.sort(), ['frame 2', 'job', 'order'])
    done.open()
  })
})
