import assert from 'node:assert/strict'
import { describe, onTestFinished, test, vi } from 'vitest'
import { z } from 'zod'
import { aborted, openScene, started, withTime } from '../../test/support/worker-scene.ts'
import { defineApp } from '../contracts/define-app.ts'
import { deadLetter, release, retryIn } from '../contracts/handler-outcome.ts'
import { jobs } from '../contracts/jobs-declaration.ts'
import { queue } from '../contracts/queue-declaration.ts'
import type { HandlerContext } from './handler-context.ts'

const Account = z.object({
  email: z.string(),
  card: z.object({ number: z.string() }),
  pins: z.array(z.object({ pin: z.number() })),
  note: z.string().transform((note) => note.toUpperCase()),
})

const app = defineApp('bank', {
  queues: {
    basic: jobs({
      types: {
        CHARGE: {
          schema: Account,
          secret: ['card', 'pins.pin', 'note'],
          personal: ['email'],
          attempts: 2,
          backoff: { from: '1s', jitter: 0 },
        },
        SIMPLE: { schema: z.unknown(), attempts: 2, backoff: { from: '1s', jitter: 0 } },
      },
      deadLetter: {},
    }),
    mail: queue(),
  },
})

type Handle = (payload: unknown, context: HandlerContext<(typeof app)['queues']>) => unknown

async function bank(handle: Handle) {
  const scene = await openScene(app)
  const worker = started(
    scene.mill.worker({
      poll: ['basic', 'mail'],
      handle: { CHARGE: handle, SIMPLE: handle, mail: handle },
    }),
  )
  return { ...scene, worker }
}

describe('the log', () => {
  test('has one line for each step of a job, with facts alone', async () => {
    let runs = 0
    const { mill, clock, lines, until } = await bank(async () => {
      runs += 1
      await new Promise<void>((resolve) => clock.after(250, resolve))
      if (runs === 1) throw new Error('no\nline')
    })
    const { id } = await mill.jobs.enqueue(
      'basic',
      'SIMPLE',
      { secret: 'payload' },
      { owner: 'anna', traceId: 'trace-1', tenant: 'school-1', tags: ['tag-1'] },
    )
    await clock.advance(10_000)
    await until('completed', async () => (await mill.jobs.get(id))?.status === 'completed')
    const facts = { queue: 'basic', type: 'SIMPLE', id, max_attempts: 2, trace_id: 'trace-1' }
    const { max_attempts: _, ...enqueued } = facts
    assert.deepEqual(lines, [
      {
        level: 'info',
        message: 'job enqueued',
        fields: { ...enqueued, status: 'pending', outcome: 'created' },
      },
      {
        level: 'info',
        message: 'job started',
        fields: { ...facts, attempt: 1, status: 'processing', outcome: 'started' },
      },
      {
        level: 'warn',
        message: 'job retried',
        fields: {
          ...facts,
          attempt: 1,
          status: 'pending',
          outcome: 'retried',
          duration_ms: 250,
          error: 'no line',
          error_name: 'Error',
          error_stack: lines[2]?.fields['error_stack'],
          retry_in_ms: 1_000,
        },
      },
      {
        level: 'info',
        message: 'job started',
        fields: { ...facts, attempt: 2, status: 'processing', outcome: 'started' },
      },
      {
        level: 'info',
        message: 'job completed',
        fields: {
          ...facts,
          attempt: 2,
          status: 'completed',
          outcome: 'completed',
          duration_ms: 250,
        },
      },
    ])
    assert.match(String(lines[2]?.fields['error_stack']), /^Error: no\n {2}line\n {4}at /)
  })

  test('names every other end as well', async () => {
    const { mill, clock, worker, messages, lines, settle } = await bank((payload, { signal }) => {
      switch (payload) {
        case 'deadLetter':
          return deadLetter('broken')
        case 'wait':
          return aborted(signal).then(() => Promise.reject(signal.reason))
        default:
          return undefined
      }
    })
    await mill.jobs.enqueue('basic', 'SIMPLE', 'deadLetter')
    const { id } = await mill.jobs.enqueue('basic', 'SIMPLE', 'wait')
    await settle()
    await mill.jobs.cancel(id)
    await clock.advance(1_000)
    await mill.jobs.enqueue('basic', 'SIMPLE', 'wait')
    await mill.queues.mail.send('m')
    await settle()
    await withTime(clock, worker.stop())
    const ends = messages().filter((text) => !/started|enqueued/.test(text))
    assert.deepEqual(ends, ['job failed', 'job cancelled', 'message completed', 'job released'])
    const message = lines.find(({ message: text }) => text === 'message completed')
    assert.deepEqual(Object.keys(message?.fields ?? {}).sort(), [
      'attempt',
      'duration_ms',
      'id',
      'outcome',
      'queue',
      'status',
    ])
  })

  test('has a line for each job that a handler enqueues, once it exists', async () => {
    const { mill, clock, lines, until } = await bank((payload, context) => {
      if (payload !== 'first') return
      const options = { idempotencyKey: 'k', traceId: 'trace-2' }
      context.enqueue('basic', 'SIMPLE', 'second', options)
      context.enqueue('basic', 'SIMPLE', 'second', options)
      if (context.attempt === 1) throw new Error('not yet')
    })
    const { id } = await mill.jobs.enqueue('basic', 'SIMPLE', 'first')
    const enqueued = (): readonly unknown[] =>
      lines
        .filter(({ message, fields }) => message === 'job enqueued' && fields['id'] !== id)
        .map(({ fields: { queue, type, outcome, trace_id } }) => [queue, type, outcome, trace_id])
    await until('tried', async () => (await mill.jobs.attempts(id))[0]?.outcome === 'retried')
    assert.deepEqual(enqueued(), [])
    await clock.advance(2_000)
    await until('completed', async () => (await mill.jobs.get(id))?.status === 'completed')
    assert.deepEqual(enqueued(), [
      ['basic', 'SIMPLE', 'created', 'trace-2'],
      ['basic', 'SIMPLE', 'duplicate', 'trace-2'],
    ])
  })

  test('says what was not enqueued, and why, without the payload', async () => {
    const { mill, lines } = await bank(() => undefined)
    const payload = { email: 'anna@example.com', card: 'topsecret' } as never
    await assert.rejects(mill.jobs.enqueue('basic', 'CHARGE', payload))
    await assert.rejects(mill.jobs.enqueueMany('basic', [{ type: 'CHARGE', payload }]))
    assert.deepEqual(
      lines.map(({ level, message }) => [level, message]),
      [
        ['warn', 'job not enqueued'],
        ['warn', 'job not enqueued'],
      ],
    )
    assert.doesNotMatch(JSON.stringify(lines), /topsecret|anna/)
  })

  test('quotes no error of a schema that throws: it may have the payload in it', async () => {
    const validate = (value: unknown): never => {
      throw new Error(`cannot check ${JSON.stringify(value)}`)
    }
    const Broken = { '~standard': { version: 1, vendor: 'own', validate } } as const
    const broken = defineApp('broken', { queues: { basic: jobs({ types: { RUN: Broken } }) } })
    const { mill, lines } = await openScene(broken)
    await assert.rejects(mill.jobs.enqueue('basic', 'RUN', { card: 'topsecret' }))
    assert.equal(lines.length, 1)
    assert.doesNotMatch(JSON.stringify(lines), /topsecret/)
  })

  test('and events that throw change nothing about the work', async () => {
    // It would be printed otherwise.
    const warn = vi.spyOn(process, 'emitWarning').mockImplementation(() => undefined)
    onTestFinished(() => warn.mockRestore())
    const { mill, until } = await openScene(app)
    started(
      mill.worker({
        poll: ['basic'],
        concurrency: 1,
        handle: { CHARGE: () => undefined, SIMPLE: () => 'done' },
        onEvent: () => {
          throw new Error('the listener is broken')
        },
      }),
    )
    const ids = []
    for (const payload of [1, 2]) {
      ids.push((await mill.jobs.enqueue('basic', 'SIMPLE', payload)).id)
    }
    for (const id of ids) {
      await until('completed', async () => (await mill.jobs.get(id))?.status === 'completed')
    }
    assert.deepEqual(warn.mock.calls[0], [new Error('the listener is broken')])
  })
})

describe('what a contract marks as secret or personal', () => {
  const payload = {
    email: 'anna at school',
    card: { number: '4111-1111' },
    pins: [{ pin: 80_861 }, { pin: 90_125 }],
    note: 'mother\'s "maiden" name',
  }
  const leaks = /anna at school|4111-1111|80861|90125|maiden/i
  const all = `${payload.email} ${payload.card.number} 80861 90125 ${payload.note}`

  test.each<readonly [string, Handle]>([
    ['an error', () => assert.fail(`cannot charge ${all}`)],
    ['an error that quotes the payload as JSON', (given) => assert.fail(JSON.stringify(given))],
    [
      'an error that quotes what the schema made of it',
      (given) => assert.fail(JSON.stringify(Object.values(given as object))),
    ],
    ['the reason of a retry', () => retryIn('1s', `no answer for ${all}`)],
    ['the reason of a dead letter', () => deadLetter(`no account of ${all}`)],
  ])('is not in what is stored and logged of %s', async (_, handle) => {
    const { mill, backend, clock, lines } = await bank(handle)
    const { id } = await mill.jobs.enqueue('basic', 'CHARGE', payload)
    await clock.advance(10_000)
    const job = await mill.jobs.get(id)
    assert.equal(job?.status, 'failed')
    assert.match(String(job?.error), /\[hidden\]/)
    const dead = mill.queues.basic.deadLetters?.name ?? ''
    const { items } = await backend.peek({ queue: dead, state: 'ready', limit: 1 })
    const reasons = items.map(({ deadLetterOrigin: origin }) => origin?.reason)
    assert.equal(reasons.length, 1)
    const told = JSON.stringify([job?.error, await mill.jobs.attempts(id), reasons, lines])
    assert.doesNotMatch(told, leaks)
  })

  test('is not in what is stored and logged of a plain message', async () => {
    const shop = defineApp('shop', {
      queues: { orders: queue({ secret: ['card'], deadLetter: {} }) },
    })
    const { mill, until, lines } = await openScene(shop)
    await mill.queues.orders.send({ card: 'topsecret' })
    const handle = { orders: () => deadLetter('no account of topsecret') }
    started(mill.worker({ poll: ['orders'], handle }))
    const dead = async () => (await mill.queues.orders.deadLetters?.peek())?.items ?? []
    await until('dead', async () => (await dead()).length === 1)
    const [letter] = await dead()
    assert.equal(letter?.deadLetterOrigin?.reason, 'no account of [hidden]')
    assert.doesNotMatch(JSON.stringify(lines), /topsecret/)
  })

  test('is not in the reason why a payload was refused', async () => {
    const Strict = z.object({
      card: z.string().refine(() => !isStrict, { error: ({ input }) => `${input} is no card` }),
    })
    let isStrict = false
    const strict = defineApp('strict', {
      queues: {
        basic: jobs({ types: { CHARGE: { schema: Strict, secret: ['card'] } }, deadLetter: {} }),
      },
    })
    const { mill, until, lines } = await openScene(strict)
    const { id } = await mill.jobs.enqueue('basic', 'CHARGE', { card: 'topsecret' })
    isStrict = true
    started(mill.worker({ poll: ['basic'], handle: { CHARGE: () => release() } }))
    await until('failed', async () => (await mill.jobs.get(id))?.status === 'failed')
    const error = String((await mill.jobs.get(id))?.error)
    assert.match(error, /message\.card/)
    assert.doesNotMatch(`${error} ${JSON.stringify(lines)}`, /topsecret/)
  })
})
