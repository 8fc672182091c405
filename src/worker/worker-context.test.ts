import assert from 'node:assert/strict'
import { describe, test } from 'vitest'
import { z } from 'zod'
import { bodiesOf } from '../../test/support/bodies-of.ts'
import { gate, openScene, started, type WorkerScene } from '../../test/support/worker-scene.ts'
import { defineApp } from '../contracts/define-app.ts'
import { release, UnrecoverableError } from '../contracts/handler-outcome.ts'
import { jobs } from '../contracts/jobs-declaration.ts'
import { fifo, queue } from '../contracts/queue-declaration.ts'
import type { HandlerContext } from './handler-context.ts'

const app = defineApp('courses', {
  queues: {
    steps: jobs({ types: { OUTLINE: z.unknown(), CHAPTER: z.object({ title: z.string() }) } }),
    lite: jobs({ types: { TIDY: z.unknown() } }),
    mail: queue({ schema: z.object({ to: z.string() }) }),
    audit: fifo({ deduplication: 'explicit' }),
  },
  tiers: {
    basic: { queue: 'steps', allows: ['OUTLINE', 'CHAPTER'] },
    lite: { queue: 'lite', allows: ['TIDY'] },
  },
})

type Courses = typeof app
type Context = HandlerContext<Courses['queues']>

/** A worker for the first step alone; what it leads to stays where it can be seen. */
async function courses(
  outline: (context: Context) => unknown,
): Promise<WorkerScene<Courses> & { readonly id: string }> {
  const scene = await openScene(app)
  const { id } = await scene.mill.jobs.enqueue('steps', 'OUTLINE', null)
  started(
    scene.mill.worker({
      poll: ['steps'],
      concurrency: 1,
      handle: { OUTLINE: (_, context) => outline(context), CHAPTER: () => release() },
    }),
  )
  return { ...scene, id }
}

describe('what a handler sends and enqueues', () => {
  test('comes to be with its completion, and not before', async () => {
    const done = gate()
    const { mill, backend, id, settle, until } = await courses(async (context) => {
      context.send('mail', { to: 'anna' })
      context.send('audit', 'outline', { group: 'course-1', deduplicationId: 'a-1' })
      context.enqueue('lite', 'TIDY', { course: 1 }, { owner: 'anna', delay: '1m' })
      await done.opened
      return 'outlined'
    })
    await settle()
    assert.deepEqual(await bodiesOf(backend, mill.queues.mail.name), [])
    assert.deepEqual((await mill.jobs.list('lite')).items, [])
    done.open()
    await until('completed', async () => (await mill.jobs.get(id))?.status === 'completed')
    assert.deepEqual(await bodiesOf(backend, mill.queues.mail.name), ['{"to":"anna"}'])
    assert.deepEqual(await bodiesOf(backend, mill.queues.audit.name), ['"outline"'])
    const { items } = await mill.jobs.list('lite')
    assert.deepEqual(
      items.map(({ payload, owner, tier, status }) => [payload, owner, tier, status]),
      [[{ course: 1 }, 'anna', 'lite', 'pending']],
    )
  })

  test.each([
    ['throws', () => assert.fail('no chapters')],
    ['throws for good', () => assert.ok(false, new UnrecoverableError('no course'))],
    ['hands its job back', () => release()],
  ])('is gone when the handler %s', async (_, end) => {
    let runs = 0
    const { mill, backend, settle } = await courses(async (context) => {
      runs += 1
      if (runs > 1) return 'nothing more'
      context.send('mail', { to: 'anna' })
      context.enqueue('lite', 'TIDY', null)
      return end()
    })
    await settle()
    assert.ok(runs > 0)
    assert.deepEqual(await bodiesOf(backend, mill.queues.mail.name), [])
    assert.deepEqual((await mill.jobs.list('lite')).items, [])
  })

  test('is one job for one idempotency key, however often it is said', async () => {
    const { mill, id, until } = await courses(async (context) => {
      const options = { idempotencyKey: 'tidy/1' }
      context.enqueue('lite', 'TIDY', { course: 1 }, options)
      context.enqueue('lite', 'TIDY', { course: 1 }, options)
    })
    await until('completed', async () => (await mill.jobs.get(id))?.status === 'completed')
    assert.equal((await mill.jobs.list('lite')).items.length, 1)
  })

  test.each([
    [
      'a payload that does not fit',
      (context: Context) => context.enqueue('steps', 'CHAPTER', { title: 7 as never }),
      /^payload\.title: got a number, expected string$/,
    ],
    [
      'a message that does not fit',
      (context: Context) => context.send('mail', {} as never),
      /^message\.to: got nothing, expected string$/,
    ],
    [
      'a queue that does not exist',
      (context: Context) => context.send('post' as 'mail', { to: 'anna' }),
      /^The app has no queue 'post'\.$/,
    ],
    [
      'a job for a queue of messages',
      (context: Context) => context.enqueue('mail' as 'lite', 'TIDY', null),
      /^The queue 'mail' is not a jobs queue\. Send it a message instead\.$/,
    ],
    [
      'a type that does not exist',
      (context: Context) => context.enqueue('lite', 'TIDI' as 'TIDY', null),
      /^type: got 'TIDI', expected one of TIDY; did you mean 'TIDY'\?$|^The tier 'lite' runs TIDY/,
    ],
    [
      'a tier that does not serve the queue',
      (context: Context) => context.enqueue('lite', 'TIDY', null, { tier: 'basic' }),
      /^The tier 'basic' runs OUTLINE, CHAPTER, but not 'TIDY'\.$/,
    ],
  ])('fails the attempt when it is %s', async (_, draft, error) => {
    const { mill, backend, id, until } = await courses(async (context) => {
      context.send('mail', { to: 'anna' })
      draft(context)
      return 'completed?'
    })
    await until('an error', async () => (await mill.jobs.get(id))?.error !== null)
    const job = await mill.jobs.get(id)
    assert.equal(job?.status, 'pending')
    assert.match(String(job?.error), error)
    assert.deepEqual(await bodiesOf(backend, mill.queues.mail.name), [])
  })

  test('fails the attempt when the store refuses it at the end', async () => {
    const { mill, backend, id, until } = await courses(async (context) => {
      context.send('mail', { to: 'anna' })
      context.enqueue('lite', 'TIDY', { course: 2 }, { idempotencyKey: 'tidy' })
    })
    await mill.jobs.enqueue('lite', 'TIDY', { course: 1 }, { idempotencyKey: 'tidy' })
    await until('an error', async () => (await mill.jobs.get(id))?.error !== null)
    assert.match(String((await mill.jobs.get(id))?.error), /idempotency key was already used/)
    assert.deepEqual(await bodiesOf(backend, mill.queues.mail.name), [])
  })
})

describe('the context of a handler', () => {
  test('says all that is known about its job', async () => {
    const { mill, until } = await openScene(app)
    const seen: Context[] = []
    started(
      mill.worker({
        poll: ['lite'],
        handle: {
          TIDY: (_, context) => {
            seen.push(context)
          },
        },
      }),
    )
    const { id } = await mill.jobs.enqueue('lite', 'TIDY', null, {
      owner: 'anna',
      tenant: 'school-1',
      traceId: 'trace-1',
      tags: ['nightly'],
      attempts: 9,
    })
    await until('a run', () => seen.length === 1)
    const [context] = seen
    assert.ok(context)
    const { queue: key, type, attempt, maxAttempts, owner, tenant, tier, traceId, tags } = context
    assert.deepEqual(
      { key, type, id: context.id, attempt, maxAttempts, owner, tenant, tier, traceId, tags },
      {
        key: 'lite',
        type: 'TIDY',
        id,
        attempt: 1,
        maxAttempts: 9,
        owner: 'anna',
        tenant: 'school-1',
        tier: 'lite',
        traceId: 'trace-1',
        tags: ['nightly'],
      },
    )
    assert.ok(context.token > 0)
    assert.equal(context.signal.aborted, false)
  })

  test('has a token that rises with every attempt', async () => {
    const tokens: number[] = []
    const { clock } = await courses(async ({ token }) => {
      tokens.push(token)
      throw new Error('again')
    })
    await clock.advance(60_000)
    assert.equal(tokens.length, 3)
    assert.deepEqual(
      tokens,
      [...tokens].sort((one, other) => one - other),
    )
    assert.equal(new Set(tokens).size, 3)
  })

  test('reports progress that others see at once', async () => {
    const half = gate()
    const done = gate()
    const { mill, id, until } = await courses(async (context) => {
      await context.progress(0.5)
      half.open()
      await done.opened
    })
    await until('half', async () => (await mill.jobs.get(id))?.progress === 0.5)
    await half.opened
    assert.equal((await mill.jobs.get(id))?.status, 'processing')
    done.open()
    await until('all', async () => (await mill.jobs.get(id))?.progress === 1)
  })

  test('refuses progress that is none', async () => {
    const { mill, id, until } = await courses((context) => context.progress(50))
    await until('an error', async () => (await mill.jobs.get(id))?.error !== null)
    assert.equal((await mill.jobs.get(id))?.error, 'progress: got 50, expected a number, 0 to 1')
  })

  test('writes log lines that carry the facts of its job', async () => {
    const { mill, id, until, lines } = await courses(({ log }) => {
      log.debug({ chapters: 3 }, 'a debug line')
      log.info({ chapters: 3 }, 'an info line')
      log.warn({}, 'a warning')
      log.error({}, 'an error')
    })
    await until('completed', async () => (await mill.jobs.get(id))?.status === 'completed')
    const facts = { queue: 'steps', type: 'OUTLINE', id, attempt: 1, max_attempts: 3 }
    const own = lines.filter(({ message }) => /^an? /.test(message))
    assert.deepEqual(own, [
      { level: 'debug', message: 'a debug line', fields: { ...facts, chapters: 3 } },
      { level: 'info', message: 'an info line', fields: { ...facts, chapters: 3 } },
      { level: 'warn', message: 'a warning', fields: facts },
      { level: 'error', message: 'an error', fields: facts },
    ])
  })
})

describe('middleware', () => {
  test('runs around every handler, the first one outermost', async () => {
    const { mill, until } = await openScene(app)
    const { id } = await mill.jobs.enqueue('lite', 'TIDY', 'the client')
    const order: string[] = []
    started(
      mill.worker({
        poll: ['lite'],
        use: [
          async ({ type, attempt, payload }, next) => {
            order.push(`outer before ${type} ${attempt} of ${payload}`)
            const result = await next()
            order.push('outer after')
            return { wrapped: result }
          },
          async (_, next) => {
            order.push('inner before')
            const result = await next()
            order.push('inner after')
            return result
          },
        ],
        handle: { TIDY: () => order.push('handler') && 'tidy' },
      }),
    )
    await until('completed', async () => (await mill.jobs.get(id))?.status === 'completed')
    assert.deepEqual(order, [
      'outer before TIDY 1 of the client',
      'inner before',
      'handler',
      'inner after',
      'outer after',
    ])
    assert.deepEqual((await mill.jobs.get(id))?.result, { wrapped: 'tidy' })
  })
})
