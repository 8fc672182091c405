import assert from 'node:assert/strict'
import { describe, test } from 'vitest'
import { z } from 'zod'
import { openScene, started } from '../../test/support/worker-scene.ts'
import { defineApp } from '../contracts/define-app.ts'
import { UnrecoverableError } from '../contracts/handler-outcome.ts'
import { jobs } from '../contracts/jobs-declaration.ts'
import { backoffMs, defaultBackoff } from '../core/backoff.ts'
import { seededRandomness } from '../testing/virtual-clock.ts'

const Exam = z.object({ examId: z.string(), pages: z.string().transform(Number).optional() })
const Marks = { schema: z.object({ sheet: z.string() }), result: z.object({ marks: z.number() }) }

const academy = defineApp('academy', {
  queues: {
    basic: jobs({
      types: {
        OCR: Exam,
        OMR: Marks,
        SCAN: { schema: z.unknown(), attempts: 2, backoff: { from: '1m', jitter: 0 } },
      },
      deadLetter: {},
    }),
    eager: jobs({
      types: {
        OCR: Exam,
        ONCE: { schema: z.unknown(), attempts: 1 },
        FLAT: { schema: z.unknown(), backoff: { from: '7s', factor: 1, jitter: 0 } },
      },
      attempts: 4,
      backoff: { from: '10s', factor: 3, max: '1m', jitter: 0 },
    }),
  },
})

const ignore = async (): Promise<void> => undefined
const sheet = async (): Promise<{ marks: number }> => ({ marks: 1 })
const basicHandlers = { OCR: ignore, OMR: sheet, SCAN: ignore }
const eagerHandlers = { OCR: ignore, ONCE: ignore, FLAT: ignore }

describe('a job that is run', () => {
  test('is completed with what its handler returns', async () => {
    const { mill, until } = await openScene(academy)
    const { id } = await mill.jobs.enqueue('basic', 'OCR', { examId: 'e-1', pages: '12' })
    const seen: unknown[] = []
    started(
      mill.worker({
        poll: ['basic'],
        handle: {
          ...basicHandlers,
          OCR: async (payload) => {
            seen.push(payload)
            return { pages: payload.pages }
          },
        },
      }),
    )
    await until('completed', async () => (await mill.jobs.get(id))?.status === 'completed')
    // The handler is given what the schema makes of the payload.
    assert.deepEqual(seen, [{ examId: 'e-1', pages: 12 }])
    const job = await mill.jobs.get(id)
    assert.deepEqual([job?.result, job?.attemptsMade, job?.progress], [{ pages: 12 }, 1, 1])
  })

  test('is completed by a handler that returns nothing, or answers without a promise', async () => {
    const { mill, until } = await openScene(academy)
    const { id } = await mill.jobs.enqueue('basic', 'OCR', { examId: 'e-1' })
    const second = await mill.jobs.enqueue('basic', 'SCAN', null)
    const handle = { ...basicHandlers, SCAN: () => 'done' }
    started(mill.worker({ poll: ['basic'], handle }))
    await until('both', async () => (await mill.jobs.get(second.id))?.status === 'completed')
    assert.equal((await mill.jobs.get(id))?.result, null)
    assert.equal((await mill.jobs.get(second.id))?.result, 'done')
  })

  test('keeps a result that only looks like a promise', async () => {
    const { mill, until } = await openScene(academy)
    const { id } = await mill.jobs.enqueue('basic', 'SCAN', null)
    const result = JSON.parse('{"then":"nothing"}')
    const handle = { ...basicHandlers, SCAN: () => result }
    started(mill.worker({ poll: ['basic'], handle }))
    await until('completed', async () => (await mill.jobs.get(id))?.status === 'completed')
    assert.deepEqual((await mill.jobs.get(id))?.result, result)
  })

  test('is tried again when its result does not fit the contract', async () => {
    const { mill, until, clock } = await openScene(academy)
    const { id } = await mill.jobs.enqueue('basic', 'OMR', { sheet: 's-1' })
    const answers: unknown[] = [{ marks: 'seven' }, undefined, { marks: 7 }]
    // What plain JavaScript may answer, whatever the types say.
    const OMR = (): never => answers.shift() as never
    started(mill.worker({ poll: ['basic'], handle: { ...basicHandlers, OMR } }))
    await until('retried', async () => (await mill.jobs.get(id))?.error !== null)
    assert.equal((await mill.jobs.get(id))?.error, 'result.marks: got a string, expected number')
    await clock.advance(5_000)
    assert.equal((await mill.jobs.get(id))?.error, 'result: got nothing, expected object')
    await clock.advance(10_000)
    assert.deepEqual((await mill.jobs.get(id))?.result, { marks: 7 })
  })

  test('is tried again when its result is no JSON, or larger than a message', async () => {
    const { mill, until, clock } = await openScene(academy)
    const { id } = await mill.jobs.enqueue('eager', 'OCR', { examId: 'e-1' })
    // Not so many characters, but as bytes they are too many.
    const answers: unknown[] = [{ size: 1n }, 'é'.repeat(600_000), 'fits']
    const handle = { ...eagerHandlers, OCR: () => answers.shift() }
    started(mill.worker({ poll: ['eager'], handle }))
    await until('retried', async () => (await mill.jobs.get(id))?.error !== null)
    assert.match(String((await mill.jobs.get(id))?.error), /^result\.size: got a bigint/)
    await clock.advance(10_000)
    assert.match(String((await mill.jobs.get(id))?.error), /result is too large/)
    await clock.advance(30_000)
    assert.equal((await mill.jobs.get(id))?.result, 'fits')
  })
})

describe('a handler that throws', () => {
  test('is run again after 5 s and 10 s, each with a part left to chance, then the job fails', async () => {
    const { mill, until, clock, backend } = await openScene(academy, { seed: 7 })
    const { id } = await mill.jobs.enqueue('basic', 'OCR', { examId: 'e-1' })
    const startedAt: number[] = []
    const OCR = async (): Promise<void> => {
      startedAt.push(clock.now())
      throw new Error(`no toner (${startedAt.length})`)
    }
    started(mill.worker({ poll: ['basic'], handle: { ...basicHandlers, OCR } }))
    await until('one attempt', () => startedAt.length === 1)
    await clock.advance(60_000)

    const chances = seededRandomness(7)
    const waits = [1, 2].map((attempt) => backoffMs(defaultBackoff, attempt, chances.next()))
    const [first = 0, second = 0, third = 0] = startedAt
    assert.deepEqual([second - first, third - second, startedAt.length], [...waits, 3])
    assert.ok(first + 4_000 <= second && second <= first + 5_000)

    const job = await mill.jobs.get(id)
    assert.deepEqual([job?.status, job?.error, job?.attemptsMade], ['failed', 'no toner (3)', 3])
    assert.deepEqual(
      (await mill.jobs.attempts(id)).map(({ outcome, error }) => [outcome, error]),
      [
        ['retried', 'no toner (1)'],
        ['retried', 'no toner (2)'],
        ['failed', 'no toner (3)'],
      ],
    )
    const queue = mill.queues.basic.deadLetters?.name ?? ''
    const { items } = await backend.peek({ queue, state: 'ready', limit: 10 })
    assert.deepEqual(
      items.map(({ body, deadLetterOrigin: deadLetter }) => [
        body,
        deadLetter?.source,
        deadLetter?.reason,
      ]),
      [['{"examId":"e-1"}', mill.queues.basic.name, 'no toner (3)']],
    )
  })

  test('fails its job at once with an UnrecoverableError, also one of another library', async () => {
    const { mill, settle } = await openScene(academy)
    class Foreign extends Error {
      override readonly name = 'UnrecoverableError'
    }
    const errors = [new UnrecoverableError('no such exam'), new Foreign('gone for good')]
    const ids = []
    for (const examId of ['e-1', 'e-2']) {
      ids.push((await mill.jobs.enqueue('basic', 'OCR', { examId })).id)
    }
    const OCR = async (): Promise<never> => {
      throw errors.shift()
    }
    started(mill.worker({ poll: ['basic'], concurrency: 1, handle: { ...basicHandlers, OCR } }))
    await settle()
    const ended = await Promise.all(ids.map((id) => mill.jobs.get(id)))
    assert.deepEqual(
      ended.map((job) => [job?.status, job?.attemptsMade, job?.error]),
      [
        ['failed', 1, 'no such exam'],
        ['failed', 1, 'gone for good'],
      ],
    )
  })

  test('may throw before its first await, and anything at all', async () => {
    const { mill, until } = await openScene(academy)
    const { id } = await mill.jobs.enqueue('eager', 'ONCE', null)
    const ONCE = (): never => {
      // Code that users bring may throw what it likes.
      throw undefined as never
    }
    started(mill.worker({ poll: ['eager'], handle: { ...eagerHandlers, ONCE } }))
    await until('failed', async () => (await mill.jobs.get(id))?.status === 'failed')
    assert.equal((await mill.jobs.get(id))?.error, 'A value of type undefined was thrown.')
  })
})

describe('attempts and waits', () => {
  test('are those of the job, else of its type, else of its queue', async () => {
    const { mill, clock } = await openScene(academy)
    const runs = new Map<string, number[]>()
    const failing = async (_: unknown, { id }: { readonly id: string }): Promise<never> => {
      runs.set(id, [...(runs.get(id) ?? []), clock.now()])
      throw new Error('again')
    }
    started(
      mill.worker({
        poll: ['basic', 'eager'],
        handle: { OCR: failing, OMR: failing, SCAN: failing, ONCE: failing, FLAT: failing },
      }),
    )
    const { jobs: enqueued } = mill
    const flat = { from: '3s', factor: 1, jitter: 0 } as const
    const cases = [
      [await enqueued.enqueue('eager', 'OCR', { examId: 'queue' }), [10, 30, 60]],
      [await enqueued.enqueue('eager', 'FLAT', null), [7, 7, 7]],
      [await enqueued.enqueue('eager', 'ONCE', null), []],
      [await enqueued.enqueue('basic', 'SCAN', null), [60]],
      [await enqueued.enqueue('basic', 'SCAN', null, { attempts: 3, backoff: flat }), [3, 3]],
      [await enqueued.enqueue('eager', 'FLAT', null, { attempts: 2 }), [7]],
    ] as const
    await clock.advance(600_000)
    for (const [{ id }, seconds] of cases) {
      const times = runs.get(id) ?? []
      assert.deepEqual(
        times.slice(1).map((at, index) => (at - (times[index] ?? 0)) / 1_000),
        seconds,
      )
      assert.equal((await mill.jobs.get(id))?.status, 'failed')
    }
  })
})
