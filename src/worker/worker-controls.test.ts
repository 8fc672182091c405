import assert from 'node:assert/strict'
import { afterEach, describe, test } from 'vitest'
import { z } from 'zod'
import { gate, openScene, started, type WorkerScene } from '../../test/support/worker-scene.ts'
import type { Backend } from '../backends/backend.ts'
import { defineApp } from '../contracts/define-app.ts'
import { jobs } from '../contracts/jobs-declaration.ts'
import { queue } from '../contracts/queue-declaration.ts'
import type { HandlerContext } from './handler-context.ts'

const app = defineApp('controls', {
  queues: {
    basic: jobs({
      types: { CHAT: { schema: z.unknown(), obeys: 'LLM_PAUSED' }, OCR: z.unknown() },
      deadLetter: {},
    }),
    lite: jobs({ types: { OCR: z.unknown() }, deadLetter: {} }),
    mail: queue({ deadLetter: { after: 3 }, obeys: ['MAIL_PAUSED'] }),
    narrow: jobs({ types: { WIDE: z.unknown() }, concurrency: 2 }),
    shared: jobs({
      types: { THIN: { schema: z.unknown(), concurrency: 1 }, WIDE: z.unknown() },
      tenantConcurrency: 2,
    }),
    slow: jobs({ types: { TICK: z.unknown() }, rate: { max: 2, per: '10s' } }),
  },
  tiers: {
    basic: { queue: 'basic', allows: ['CHAT', 'OCR'] },
    lite: { queue: 'lite', allows: ['OCR'] },
  },
  budgets: {
    llm: { limit: 10, per: '1h', trips: 'LLM_PAUSED' },
    mails: { limit: 2, trips: 'MAIL_PAUSED', mode: 'divert' },
  },
})

type Controls = typeof app
type Context = HandlerContext<Controls['queues']>
const by = { by: 'anna' }

/** Receives that found nothing cost the store, so a worker must not repeat them needlessly. */
function counting(calls: { receives: number }): (backend: Backend) => Backend {
  return (backend) => ({
    ...backend,
    receive: (request) => {
      calls.receives += 1
      return backend.receive(request)
    },
  })
}

interface Controlled extends WorkerScene<Controls> {
  readonly seen: string[]
  readonly calls: { receives: number }
}

async function controlled(spend?: (context: Context) => Promise<void>): Promise<Controlled> {
  const calls = { receives: 0 }
  const scene = await openScene(app, { wrap: counting(calls) })
  const seen: string[] = []
  const note = async (payload: unknown, context: Context): Promise<void> => {
    seen.push(`${context.type ?? context.queue} ${payload}`)
    await spend?.(context)
  }
  started(
    scene.mill.worker({
      poll: ['basic', 'lite', 'mail'],
      handle: { CHAT: note, OCR: note, mail: note },
    }),
  )
  return { ...scene, seen, calls }
}

describe('a kill switch', () => {
  test.each([
    [{ queue: 'basic' }, ['OCR lite', 'mail m']],
    [{ type: 'CHAT' }, ['OCR basic', 'OCR lite', 'mail m']],
    [{ tier: 'lite' }, ['CHAT chat', 'OCR basic', 'mail m']],
    [{ tenant: 'school-1' }, ['OCR lite', 'mail m']],
    [{ name: 'LLM_PAUSED' }, ['OCR basic', 'OCR lite', 'mail m']],
    [{ name: 'MAIL_PAUSED' }, ['CHAT chat', 'OCR basic', 'OCR lite']],
  ] as const)('on %j holds what it means, at no cost, and lets it go again', async (on, runs) => {
    const { mill, clock, seen, calls } = await controlled()
    await mill.switches.hold(on, by)
    const tenant = { tenant: 'school-1' }
    const held = await mill.jobs.enqueue('basic', 'CHAT', 'chat', tenant)
    await mill.jobs.enqueue('basic', 'OCR', 'basic', tenant)
    await mill.jobs.enqueue('lite', 'OCR', 'lite')
    await mill.queues.mail.send('m')
    await clock.advance(1_000)
    assert.deepEqual(seen.sort(), runs)
    const before = calls.receives
    await clock.advance(120_000)
    assert.ok(calls.receives - before < 20, `${calls.receives - before} receives for nothing`)
    assert.deepEqual(seen.sort(), runs)
    assert.equal(await mill.switches.lift(on, by), true)
    await clock.advance(1_000)
    assert.deepEqual(seen.sort(), ['CHAT chat', 'OCR basic', 'OCR lite', 'mail m'])
    assert.equal((await mill.jobs.get(held.id))?.attemptsMade, 1)
  })

  test('that diverts sends to the dead letters, with a reason', async () => {
    const { mill, clock, seen } = await controlled()
    const options = { by: 'anna', note: 'the model lies' }
    await mill.switches.divert({ name: 'LLM_PAUSED' }, options)
    const { id } = await mill.jobs.enqueue('basic', 'CHAT', 'chat')
    await mill.jobs.enqueue('basic', 'OCR', 'basic')
    await clock.advance(1_000)
    assert.deepEqual(seen, ['OCR basic'])
    const job = await mill.jobs.get(id)
    assert.deepEqual([job?.status, job?.attemptsMade], ['failed', 0])
    assert.match(String(job?.error), /LLM_PAUSED/)
    assert.equal((await mill.queues.basic.deadLetters?.statistics())?.ready, 1)
  })

  test('set while the worker runs lets the running job end and starts no other', async () => {
    const { mill, clock, settle } = await openScene(app)
    const done = gate()
    let runs = 0
    const chat = async (): Promise<void> => {
      runs += 1
      await done.opened
    }
    started(mill.worker({ poll: ['basic'], concurrency: 1, handle: { CHAT: chat, OCR: chat } }))
    const first = await mill.jobs.enqueue('basic', 'CHAT', 1)
    await mill.jobs.enqueue('basic', 'CHAT', 2)
    await settle()
    await mill.switches.hold({ type: 'CHAT' }, by)
    done.open()
    await clock.advance(5_000)
    assert.equal((await mill.jobs.get(first.id))?.status, 'completed')
    assert.equal(runs, 1)
  })

  test('turns itself off when its time is up', async () => {
    const { mill, clock, seen } = await controlled()
    await mill.switches.hold({ type: 'OCR' }, { ...by, for: '30s' })
    await mill.jobs.enqueue('lite', 'OCR', 'lite')
    await clock.advance(29_000)
    assert.deepEqual(seen, [])
    await clock.advance(2_000)
    assert.deepEqual(seen, ['OCR lite'])
  })

  test('is listed while it is on, and its history tells who did what', async () => {
    const { mill } = await openScene(app)
    await mill.switches.hold({ queue: 'basic' }, { by: 'anna', note: 'disk' })
    await mill.switches.divert({ name: 'LLM_PAUSED' }, { by: 'ben' })
    assert.equal(await mill.switches.lift({ tenant: 'unknown' }, by), false)
    const on = await mill.switches.list()
    assert.deepEqual(
      on
        .map(({ scope, value, mode, by: who, note, source }) => [
          scope,
          value,
          mode,
          who,
          note,
          source,
        ])
        .sort(),
      [
        ['name', 'LLM_PAUSED', 'divert', 'ben', null, 'store'],
        ['queue', mill.queues.basic.name, 'hold', 'anna', 'disk', 'store'],
      ],
    )
    await mill.switches.lift({ queue: 'basic' }, { by: 'cleo', note: 'new disk' })
    const { items } = await mill.switches.history({ limit: 2 })
    assert.deepEqual(
      items.map(({ event, by: who, note }) => [event, who, note]),
      [
        ['lifted', 'cleo', 'new disk'],
        ['set', 'ben', null],
      ],
    )
  })
})

describe('a kill switch in the environment', () => {
  afterEach(() => {
    delete process.env['LLM_PAUSED']
  })

  test('holds what obeys it in this process, and shows in the list', async () => {
    process.env['LLM_PAUSED'] = 'true'
    const { mill, clock, seen, calls } = await controlled()
    await mill.jobs.enqueue('basic', 'CHAT', 'chat')
    await mill.jobs.enqueue('basic', 'OCR', 'basic')
    await clock.advance(60_000)
    assert.deepEqual(seen, ['OCR basic'])
    assert.ok(calls.receives < 20, `${calls.receives} receives`)
    assert.deepEqual(
      (await mill.switches.list()).map(({ value, source, mode }) => [value, source, mode]),
      [['LLM_PAUSED', 'environment', 'hold']],
    )
  })

  test('does not concern a process that does not have it', async () => {
    process.env['LLM_PAUSED'] = 'off'
    const { mill, clock, seen } = await controlled()
    await mill.jobs.enqueue('basic', 'CHAT', 'chat')
    await clock.advance(1_000)
    assert.deepEqual(seen, ['CHAT chat'])
  })
})

describe('a budget', () => {
  test('that is spent trips its switch, until its window ends', async () => {
    const { mill, clock, seen, messages } = await controlled((context) => context.spend('llm', 6))
    for (const n of [1, 2, 3]) {
      await mill.jobs.enqueue('basic', 'CHAT', n)
      await clock.advance(1_000)
    }
    assert.deepEqual(seen, ['CHAT 1', 'CHAT 2'])
    assert.deepEqual(
      messages().filter((text) => text.startsWith('budget')),
      ['budget spent, kill switch on'],
    )
    const { spent, limit } = await mill.budgets.read('llm')
    assert.deepEqual([spent, limit], [12, 10])
    // The virtual clock starts at midnight, so the hour ends at one.
    await clock.advance(3_600_000)
    assert.deepEqual(seen, ['CHAT 1', 'CHAT 2', 'CHAT 3'])
    assert.equal((await mill.budgets.read('llm')).spent, 6)
  })

  test('counts what was spent also when the job fails, and may divert', async () => {
    const { mill, clock, seen } = await controlled(async (context) => {
      await context.spend('mails', 1)
      throw new Error('bounced')
    })
    for (const n of [1, 2, 3]) {
      await mill.queues.mail.send(n)
      await clock.advance(100)
    }
    assert.deepEqual(seen, ['mail 1', 'mail 2'])
    await clock.advance(1_000)
    assert.equal((await mill.queues.mail.deadLetters?.statistics())?.ready, 1)
    assert.equal((await mill.budgets.read('mails')).windowEndsAt, null)
  })

  test('is also counted for the job, over all attempts', async () => {
    const { mill, clock } = await controlled(async (context) => {
      await context.spend('llm', 2)
      await context.spend('llm', 0.5)
      if (context.attempt === 1) throw new Error('refused')
    })
    const { id } = await mill.jobs.enqueue('basic', 'CHAT', 1, { attempts: 2 })
    await clock.advance(60_000)
    const job = await mill.jobs.get(id)
    assert.deepEqual([job?.status, job?.attemptsMade, job?.spent], ['completed', 2, { llm: 5 }])
  })

  test('that does not exist fails the attempt, as does an amount that is none', async () => {
    const spent = [
      ['lmm', 1],
      ['llm', -1],
      ['llm', Number.NaN],
    ] as const
    let runs = 0
    const { mill, clock } = await controlled(async (context) => {
      const [name, amount] = spent[runs] ?? ['llm', 0]
      runs += 1
      await context.spend(name, amount)
    })
    const { id } = await mill.jobs.enqueue('basic', 'CHAT', 1, { attempts: 4 })
    await clock.advance(60_000)
    assert.deepEqual(
      (await mill.jobs.attempts(id)).map(({ error }) => error),
      [
        "No app declares the budget 'lmm'; did you mean 'llm'?",
        'amount: got -1, expected a number, 0 to 1000000000000000',
        'amount: got NaN, expected a number, 0 to 1000000000000000',
        null,
      ],
    )
  })
})

describe('a ceiling', () => {
  const crowd = async (): Promise<
    WorkerScene<Controls> & {
      readonly running: Map<string, number>
      readonly most: Map<string, number>
    }
  > => {
    const scene = await openScene(app)
    const running = new Map<string, number>()
    const most = new Map<string, number>()
    const add = (key: string, by: number): void => {
      const now = (running.get(key) ?? 0) + by
      running.set(key, now)
      most.set(key, Math.max(most.get(key) ?? 0, now))
    }
    const handle = async (_: unknown, { queue: key, type, tenant }: Context): Promise<void> => {
      const keys = [key, `${key} ${type}`, `${key} of ${tenant}`]
      for (const one of keys) add(one, 1)
      await new Promise<void>((resolve) => scene.clock.after(1_000, resolve))
      for (const one of keys) add(one, -1)
    }
    // Two workers, and the ceiling is one for both.
    for (let worker = 0; worker < 2; worker += 1) {
      started(
        scene.mill.worker({
          poll: ['narrow', 'shared'],
          handle: { WIDE: handle, THIN: handle },
        }),
      )
    }
    return { ...scene, running, most }
  }

  test('on a queue holds for all workers together, and everything runs in the end', async () => {
    const { mill, clock, most } = await crowd()
    const payloads = Array.from(
      { length: 10 },
      (_, payload) => ({ type: 'WIDE', payload }) as const,
    )
    await mill.jobs.enqueueMany('narrow', payloads)
    await clock.advance(6_000)
    assert.equal(most.get('narrow'), 2)
    const done = await mill.jobs.list('narrow', { status: 'completed' })
    assert.equal(done.items.length, 10)
    assert.ok(done.items.every(({ attemptsMade }) => attemptsMade === 1))
  })

  test('on a type and on tenants leaves room for the others', async () => {
    const { mill, clock, most } = await crowd()
    for (const tenant of ['a', 'a', 'a', 'a', 'b', 'b', 'c']) {
      await mill.jobs.enqueue('shared', 'WIDE', null, { tenant })
      await mill.jobs.enqueue('shared', 'THIN', null, { tenant: `${tenant}-thin` })
    }
    await clock.advance(10_000)
    assert.equal(most.get('shared THIN'), 1)
    assert.equal(most.get('shared of a'), 2)
    assert.equal(most.get('shared of b'), 2)
    const done = await mill.jobs.list('shared', { status: 'completed', limit: 50 })
    assert.equal(done.items.length, 14)
  })

  test('on the rate holds in every window, and costs no attempt', async () => {
    const { mill, clock } = await openScene(app)
    const at: number[] = []
    const from = clock.now()
    started(
      mill.worker({ poll: ['slow'], handle: { TICK: () => void at.push(clock.now() - from) } }),
    )
    const ticks = Array.from({ length: 7 }, (_, payload) => ({ type: 'TICK', payload }) as const)
    await mill.jobs.enqueueMany('slow', ticks)
    await clock.advance(45_000)
    assert.equal(at.length, 7)
    for (const [index, time] of at.entries()) {
      const within = at.filter((other) => other >= time && other < time + 10_000)
      assert.ok(within.length <= 2, `${within.length} starts from ${time} on (${index})`)
    }
    const { items } = await mill.jobs.list('slow', { status: 'completed' })
    assert.ok(items.every(({ attemptsMade }) => attemptsMade === 1))
  })
})
