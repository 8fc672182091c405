import assert from 'node:assert/strict'
import { describe, test } from 'vitest'
import { z } from 'zod'
import { aborted, gate, openScene, started } from '../../test/support/worker-scene.ts'
import { defineApp } from '../contracts/define-app.ts'
import { deadLetter, release, retryIn } from '../contracts/handler-outcome.ts'
import { jobs } from '../contracts/jobs-declaration.ts'
import { AbortReason } from './abort-reason.ts'
import type { HandlerContext } from './handler-context.ts'
import type { WorkerEvent } from './worker-event.ts'

const app = defineApp('press', {
  queues: {
    basic: jobs({
      types: {
        PRINT: { schema: z.unknown(), timeout: '20s' },
        SLOW: z.unknown(),
      },
      attempts: 2,
      backoff: { from: '10s', jitter: 0 },
      timeout: '1m',
      deadLetter: {},
    }),
  },
})

type Handle = (payload: unknown, context: HandlerContext<(typeof app)['queues']>) => unknown

async function press(handle: Handle, onEvent?: (event: WorkerEvent) => void) {
  const scene = await openScene(app)
  const worker = scene.mill.worker({
    poll: ['basic'],
    handle: { PRINT: handle, SLOW: handle },
    ...(onEvent && { onEvent }),
  })
  return { ...scene, worker: started(worker) }
}

describe('a handler that answers', () => {
  test('retryIn is run again after that time, not after its backoff', async () => {
    const at: number[] = []
    const { mill, clock } = await press(() => {
      at.push(clock.now())
      return at.length === 1 ? retryIn('90s', 'the printer is warming up') : 'printed'
    })
    const { id } = await mill.jobs.enqueue('basic', 'PRINT', null)
    await clock.advance(89_000)
    const waiting = await mill.jobs.get(id)
    assert.deepEqual(
      [waiting?.status, waiting?.error, at.length],
      ['pending', 'the printer is warming up', 1],
    )
    await clock.advance(1_000)
    assert.deepEqual((await mill.jobs.get(id))?.result, 'printed')
  })

  test('retryIn in its last attempt has failed', async () => {
    const { mill, clock } = await press(() => retryIn('1s'))
    const { id } = await mill.jobs.enqueue('basic', 'PRINT', null)
    await clock.advance(2_000)
    const job = await mill.jobs.get(id)
    assert.deepEqual(
      [job?.status, job?.attemptsMade, job?.error],
      ['failed', 2, 'The handler returned retryIn().'],
    )
  })

  test('retryIn with a time that no lease can last is told so, and waits as usual', async () => {
    let runs = 0
    const { mill, clock, until } = await press(() => {
      runs += 1
      return retryIn('13h')
    })
    const { id } = await mill.jobs.enqueue('basic', 'PRINT', null)
    await until('one attempt', async () => (await mill.jobs.get(id))?.error !== null)
    assert.match(String((await mill.jobs.get(id))?.error), /delayMs: got 46800000, expected/)
    await clock.advance(10_000)
    assert.equal(runs, 2)
  })

  test('release has cost no attempt, and the job is there for the next', async () => {
    const attempts: number[] = []
    const { mill, until } = await press((_, { attempt }) => {
      attempts.push(attempt)
      return attempts.length < 4 ? release() : 'printed'
    })
    const { id } = await mill.jobs.enqueue('basic', 'PRINT', null)
    await until('completed', async () => (await mill.jobs.get(id))?.status === 'completed')
    assert.deepEqual(attempts, [1, 1, 1, 1])
    assert.equal((await mill.jobs.get(id))?.attemptsMade, 1)
  })

  test('deadLetter has failed at once, and its reason goes with the dead letter', async () => {
    const { mill, until } = await press(() => deadLetter('there is no such printer'))
    const { id } = await mill.jobs.enqueue('basic', 'PRINT', { copies: 2 })
    await until('failed', async () => (await mill.jobs.get(id))?.status === 'failed')
    assert.equal((await mill.jobs.get(id))?.error, 'there is no such printer')
    const letters = await mill.queues.basic.deadLetters?.peek()
    assert.deepEqual(
      letters?.items.map(({ body, deadLetterOrigin: origin }) => [body, origin?.reason]),
      [['{"copies":2}', 'there is no such printer']],
    )
  })
})

describe('a handler that takes too long', () => {
  test('is asked to stop, and its attempt has failed', async () => {
    const reasons: unknown[] = []
    const { mill, clock } = await press(async (_, { signal }) => {
      reasons.push(await aborted(signal))
      signal.throwIfAborted()
    })
    const { id } = await mill.jobs.enqueue('basic', 'PRINT', null)
    await clock.advance(19_999)
    assert.equal(reasons.length, 0)
    await clock.advance(1)
    const [reason] = reasons
    assert.ok(reason instanceof AbortReason)
    assert.deepEqual(
      [reason.kind, reason.message],
      ['timeout', 'The handler exceeded its timeout.'],
    )
    const job = await mill.jobs.get(id)
    assert.deepEqual(
      [job?.status, job?.attemptsMade, job?.error],
      ['pending', 1, 'The handler exceeded its timeout.'],
    )
  })

  test('has the time of its queue where its type has none', async () => {
    const kinds: unknown[] = []
    const { mill, clock } = await press(async (_, { signal }) => {
      const reason = await aborted(signal)
      if (reason instanceof AbortReason) kinds.push(reason.kind)
    })
    const { id } = await mill.jobs.enqueue('basic', 'SLOW', null)
    await clock.advance(59_999)
    assert.deepEqual(kinds, [])
    await clock.advance(1)
    assert.deepEqual(kinds, ['timeout'])
    // It has ended well though it was late: what it did is done.
    assert.equal((await mill.jobs.get(id))?.status, 'completed')
  })

  test('and does not stop is abandoned, and its later result changes nothing', async () => {
    const late = gate<string>()
    const runs: number[] = []
    const { mill, clock, settle, worker } = await press(async (_, context) => {
      runs.push(context.attempt)
      if (runs.length > 1) return 'the second'
      const answer = await late.opened
      context.enqueue('basic', 'SLOW', 'from the abandoned one')
      return answer
    })
    const { id } = await mill.jobs.enqueue('basic', 'PRINT', null)
    await clock.advance(24_999)
    assert.equal(worker.running, 1)
    await clock.advance(1)
    assert.deepEqual([worker.running, (await mill.jobs.get(id))?.status], [0, 'pending'])
    await clock.advance(10_000)
    assert.deepEqual((await mill.jobs.get(id))?.result, 'the second')
    late.open('the first')
    await settle()
    const job = await mill.jobs.get(id)
    assert.deepEqual([job?.result, job?.attemptsMade], ['the second', 2])
    assert.deepEqual((await mill.jobs.list('basic', { type: 'SLOW' })).items, [])
  })

  test('keeps its lease as long as it may run', async () => {
    const done = gate()
    const { mill, clock } = await press(() => done.opened)
    const { id } = await mill.jobs.enqueue('basic', 'SLOW', null)
    // Nearly twice the visibility timeout of 30 s.
    await clock.advance(58_000)
    done.open()
    await clock.advance(0)
    const job = await mill.jobs.get(id)
    assert.deepEqual([job?.status, job?.attemptsMade], ['completed', 1])
  })
})

describe('a job that is cancelled while it runs', () => {
  test('is made known to its handler within a second', async () => {
    const reasons: unknown[] = []
    const events: string[] = []
    const { mill, clock, settle } = await press(
      async (_, { signal }) => {
        reasons.push(await aborted(signal))
        throw signal.reason
      },
      ({ event }) => events.push(event),
    )
    const { id } = await mill.jobs.enqueue('basic', 'SLOW', null)
    await settle()
    await mill.jobs.cancel(id)
    await clock.advance(1_000)
    assert.deepEqual(
      reasons.map((reason) => reason instanceof AbortReason && reason.kind),
      ['cancelled'],
    )
    assert.deepEqual(events, ['started', 'cancelled'])
    const job = await mill.jobs.get(id)
    assert.deepEqual([job?.status, job?.error], ['cancelled', null])
  })

  test('stays so when its handler completes before it is told', async () => {
    const events: string[] = []
    const done = gate()
    const { mill, settle } = await press(
      async (_, context) => {
        context.enqueue('basic', 'PRINT', 'must not come to be')
        await done.opened
        return 'too late'
      },
      ({ event }) => events.push(event),
    )
    const { id } = await mill.jobs.enqueue('basic', 'SLOW', null)
    await settle()
    await mill.jobs.cancel(id)
    done.open()
    await settle()
    const job = await mill.jobs.get(id)
    assert.deepEqual([job?.status, job?.result], ['cancelled', null])
    assert.deepEqual(events, ['started', 'cancelled'])
    assert.deepEqual((await mill.jobs.list('basic', { type: 'PRINT' })).items, [])
  })

  test('is made known at once to a handler that reports progress', async () => {
    const step = gate()
    const kinds: unknown[] = []
    const { mill, settle } = await press(async (_, context) => {
      await step.opened
      await context.progress(0.5)
      kinds.push(context.signal.reason?.kind)
    })
    const { id } = await mill.jobs.enqueue('basic', 'SLOW', null)
    await settle()
    await mill.jobs.cancel(id)
    step.open()
    await settle()
    assert.deepEqual(kinds, ['cancelled'])
  })
})

describe('a job that another worker got', () => {
  test('is lost for the worker that had it: its handler is told, and changes nothing', async () => {
    const reasons: unknown[] = []
    const events: string[] = []
    const { mill, backend, clock, settle } = await press(
      async (_, { signal }) => {
        const reason = await aborted(signal)
        if (reason instanceof AbortReason) reasons.push(reason.kind)
        return 'of the first'
      },
      ({ event }) => events.push(event),
    )
    const { id } = await mill.jobs.enqueue('basic', 'SLOW', null)
    await settle()
    const queue = mill.queues.basic.name
    // The store is moved on as if no worker had renewed: the machine sleeps.
    clock.sleep(31_000)
    await backend.sweep()
    const [delivery] = await backend.receive({ queue, max: 1 })
    assert.ok(delivery)
    await clock.advance(1_000)
    assert.deepEqual(reasons, ['lease_lost'])
    assert.deepEqual(events, ['started', 'lost'])
    assert.equal((await mill.jobs.get(id))?.status, 'processing')
    const settlement = {
      receipt: delivery.receipt,
      outcome: { kind: 'acknowledge', result: '"of the second"' },
    } as const
    await backend.settle({ queue, settlements: [settlement] })
    assert.equal((await mill.jobs.get(id))?.result, 'of the second')
  })
})
