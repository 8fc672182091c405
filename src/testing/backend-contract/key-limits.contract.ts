import assert from 'node:assert/strict'
import type { KeyCeiling } from '../../core/queue-settings.ts'
import { ceilings, drain, receiveWithin, sendMany } from './gate-scene.ts'
import { enqueue, jobsOf } from './job-scene.ts'
import { minute, rejects, type Scene, second } from './scene.ts'
import type { ContractSuite } from './suite.ts'

export function describeKeyLimits(all: ContractSuite): void {
  const suite = all.needing('ceilings')
  suite.describe('limits by key', () => {
    describeValues(suite)
    describeRunning(suite)
    describeRates(suite)
    describeChanges(suite)
    describeJobs(suite.needing('trackedJobs'))
  })
}

/** The settings of a queue with these limits by key. */
function limits(...perKey: readonly (Partial<KeyCeiling> & { readonly key: string })[]) {
  return ceilings({ perKey: perKey.map((one) => ({ running: null, rate: null, ...one })) })
}

const perCustomer = limits({ key: 'customer', running: 1 })

/** A body with a value for the key, and a name to know it by. */
function of(customer: unknown, name: string): string {
  return JSON.stringify({ customer, name })
}

function namesIn(bodies: readonly string[]): string[] {
  return bodies.map((body) => JSON.parse(body).name)
}

async function receiveNames(scene: Scene, max = 10): Promise<string[]> {
  return namesIn(await scene.receiveBodies('q', { max }))
}

function describeValues(suite: ContractSuite): void {
  suite.test('a value is text, a number or a boolean, and 1 is the same as "1"', async (scene) => {
    await scene.queue('q', perCustomer)
    await scene.send('q', of(1, 'one'), of('1', 'text'), of(true, 'true'), of('', 'empty'))
    await scene.send('q', of('', 'empty too'), of('true', 'text too'))
    assert.deepEqual((await receiveNames(scene)).toSorted(), ['empty', 'one', 'true'])
  })

  suite.test('a message without a value is not limited', async (scene) => {
    await scene.queue('q', limits({ key: 'customer.id', running: 1 }))
    const bodies = [
      'no json',
      '1',
      'null',
      '"text"',
      '[{"customer":{"id":1}}]',
      '{"customer":null}',
    ]
    const more = ['{"customer":{"id":null}}', '{"customer":{}}', '{"customer":"id"}']
    await scene.send('q', ...bodies, ...bodies, ...more, ...more)
    assert.equal((await scene.receive('q', { max: 100 })).length, 18)
  })

  suite.test('a key may have the name of something that every object has', async (scene) => {
    const key = (name: string) => ({ key: name, running: 1 })
    await scene.queue('q', limits(key('constructor'), key('__proto__'), key('tags.length')))
    const inherited = '{"tags":["a"]}'
    const own = '{"__proto__":"x","constructor":"y"}'
    await scene.send('q', inherited, inherited, own, own)
    const bodies = await scene.receiveBodies('q', { max: 10 })
    assert.deepEqual(bodies.toSorted(), [own, inherited, inherited].toSorted())
  })

  suite.test('any other value is refused, and nothing of the call is stored', async (scene) => {
    await scene.queue('q', perCustomer)
    for (const value of [{ id: 1 }, ['a'], 'x'.repeat(129)]) {
      const messages = [{ body: of('a', 'fine') }, { body: of(value, 'wrong') }]
      await assert.rejects(scene.backend.send({ queue: 'q', messages, allOrNothing: true }), {
        code: 'invalid_message',
        message: /^body\.customer: /,
      })
      const [, refused] = await scene.backend.send({ queue: 'q', messages, allOrNothing: false })
      assert.equal(refused?.status, 'refused')
    }
    assert.equal((await scene.counts('q')).ready, 3)
    await scene.send('q', of('x'.repeat(128), 'long'))
  })

  suite.test('texts with any character are different values', async (scene) => {
    await scene.queue('q', perCustomer)
    const values = ['"', '\\', '\\u0000', 'é', '\\ud800', '日本', ' ', ']', '["a"]']
    const bodies = values.map((text) =>
      text.startsWith('\\u') ? `{"customer":"${text}","name":"n"}` : of(text, 'n'),
    )
    await scene.send('q', ...bodies, ...bodies)
    assert.equal((await scene.receive('q', { max: 100 })).length, values.length)
    assert.equal((await scene.receive('q', { max: 100 })).length, 0)
  })

  suite.test('limits that cannot be are refused', async (scene) => {
    const five = ['a', 'b', 'c', 'd', 'e'].map((key) => ({ key, running: 1 }))
    for (const wrong of [
      limits({ key: '' }),
      limits({ key: 'a..b', running: 1 }),
      limits({ key: 'a[]', running: 1 }),
      limits({ key: 'x'.repeat(129), running: 1 }),
      limits({ key: 'a', running: 0 }),
      limits({ key: 'a', rate: { max: 0, perMs: second } }),
      limits({ key: 'a', running: 1 }, { key: 'a', rate: { max: 1, perMs: second } }),
      limits(...five),
    ]) {
      await rejects(scene.queue('q', wrong), 'invalid_argument')
    }
    await scene.queue('q', limits(...five.slice(1)))
  })

  suite.needing('fifo').test('FIFO queues refuse them', async (scene) => {
    await rejects(scene.fifoQueue('q.fifo', perCustomer), 'invalid_argument')
  })
}

function describeRunning(suite: ContractSuite): void {
  suite.test('each value has its own ceiling', async (scene) => {
    await scene.queue('q', limits({ key: 'customer', running: 2 }))
    await scene.send('q', of('a', 'a1'), of('a', 'a2'), of('a', 'a3'), of('b', 'b1'))
    const deliveries = await scene.receive('q', { max: 10 })
    const names = namesIn(deliveries.map(({ body }) => body))
    assert.deepEqual(names.toSorted(), ['a1', 'a2', 'b1'])
    assert.deepEqual(await receiveNames(scene), [])
    assert.deepEqual(await scene.counts('q'), { ready: 1, leased: 3, delayed: 0 })
    await scene.acknowledge('q', deliveries[names.indexOf('a1')]?.receipt ?? '')
    assert.deepEqual(await receiveNames(scene), ['a3'])
  })

  suite.test('a lease that lapses makes room', async (scene) => {
    await scene.queue('q', perCustomer)
    await scene.send('q', of('a', 'a1'), of('a', 'a2'))
    await scene.receive('q', { max: 1, visibilityMs: 5 * second })
    await scene.advance(5 * second - 1)
    assert.deepEqual(await receiveNames(scene), [])
    await scene.advance(1)
    assert.deepEqual(await receiveNames(scene, 1), ['a1'])
  })

  suite.test('all limits of a message count at the same time', async (scene) => {
    await scene.queue('q', {
      ceilings: {
        ...limits({ key: 'customer', running: 2 }, { key: 'region.name', running: 3 }).ceilings,
        runningPerTenant: 3,
      },
    })
    const message = (customer: string, name: string, group: string) => ({
      body: JSON.stringify({ customer, region: { name }, name: customer + name + group }),
      group,
    })
    const messages = ['a', 'b', 'c'].flatMap((customer) =>
      ['eu', 'us'].flatMap((region) => ['x', 'y', 'z'].map((to) => message(customer, region, to))),
    )
    await scene.send('q', ...messages)
    const bodies = await scene.receiveBodies('q', { max: 100 })
    const count = (text: string): number => bodies.filter((body) => body.includes(text)).length
    for (const customer of ['a', 'b', 'c']) assert.ok(count(`"customer":"${customer}"`) <= 2)
    for (const region of ['eu', 'us']) assert.ok(count(`"region":{"name":"${region}"}`) <= 3)
    assert.equal(bodies.length, 6)
    assert.deepEqual(await scene.receive('q', { max: 100 }), [])
  })

  suite.test('values take turns, each in the order of sending', async (scene) => {
    await scene.queue('q', perCustomer)
    await scene.send('q', ...['a1', 'a2', 'a3', 'a4'].map((name) => of('a', name)))
    await scene.send('q', of('b', 'b1'), of('b', 'b2'), of('c', 'c1'))
    const names = namesIn(await drain(scene, 'q', { max: 1 }))
    assert.deepEqual(names.slice(0, 3).toSorted(), ['a1', 'b1', 'c1'])
    assert.deepEqual(names.slice(3, 5).toSorted(), ['a2', 'b2'])
    assert.deepEqual(names.slice(5), ['a3', 'a4'])
  })

  suite.test('five thousand messages of one value do not hold up another', async (scene) => {
    await scene.queue('q', perCustomer)
    await sendMany(scene, 'q', 5_000, (index) => ({ body: of('a', `a${index}`) }))
    await scene.send('q', of('b', 'b1'))
    assert.deepEqual(await receiveNames(scene, 1), ['a0'])
    const other = await receiveWithin(scene, 'q', 6)
    assert.deepEqual(namesIn([other.body]), ['b1'])
  })

  suite.test(
    'a large body counts by its keys too, also as a dead letter sent back',
    async (scene) => {
      await scene.queueWithDeadLetters('q', 1, perCustomer)
      const large = of('a', 'x'.repeat(5_000))
      await scene.send('q', large, large)
      const { receipt } = await scene.receiveOne('q')
      assert.deepEqual(await scene.receive('q'), [])
      await scene.settle('q', receipt, { kind: 'deadLetter', reason: 'no use' })
      await scene.receiveOne('q')
      await scene.backend.startMoveTask({ source: 'q-dead' })
      while ((await scene.backend.sweep()).more);
      assert.deepEqual(await scene.counts('q'), { ready: 1, leased: 1, delayed: 0 })
      assert.deepEqual(await scene.receive('q'), [])
    },
  )

  suite.needing('reopen').test('what counts outlives a restart', async (scene) => {
    await scene.queue('q', perCustomer)
    await scene.send('q', of('a', 'a1'), of('a', 'a2'))
    const [held] = await scene.receive('q', { max: 10 })
    await scene.reopen()
    assert.deepEqual(await receiveNames(scene), [])
    await scene.acknowledge('q', held?.receipt ?? '')
    assert.deepEqual(await receiveNames(scene), ['a2'])
  })
}

function describeRates(suite: ContractSuite): void {
  const rated = limits({ key: 'customer', rate: { max: 2, perMs: second } })

  suite.test('each value has its own rate', async (scene) => {
    await scene.queue('q', rated)
    await scene.send('q', ...['a1', 'a2', 'a3'].map((name) => of('a', name)), of('b', 'b1'))
    assert.deepEqual((await receiveNames(scene)).toSorted(), ['a1', 'a2', 'b1'])
    await scene.advance(second)
    assert.deepEqual(await receiveNames(scene), [], 'the window has a margin for slow starts')
    await scene.advance(second / 20)
    assert.deepEqual(await receiveNames(scene), ['a3'])
  })

  suite.test('a waiting receive gets the next one when its rate allows it', async (scene) => {
    await scene.queue('q', rated)
    await scene.send('q', ...['a1', 'a2', 'a3'].map((name) => of('a', name)))
    assert.equal((await scene.receive('q', { max: 10 })).length, 2)
    const waiting = scene.backend.receive({ queue: 'q', max: 10, waitMs: 20 * second })
    let isOver = false
    void waiting.then(() => {
      isOver = true
    })
    await scene.advance(second)
    assert.equal(isOver, false)
    await scene.advance(second / 20)
    assert.deepEqual(namesIn((await waiting).map(({ body }) => body)), ['a3'])
  })

  suite.test('a value that is never used again is forgotten by the sweeps', async (scene) => {
    await scene.queue('q', rated)
    await sendMany(scene, 'q', 20, (index) => ({ body: of(index, 'n') }))
    assert.equal((await drain(scene, 'q', { max: 100 })).length, 20)
    await scene.backend.sweep()
    await scene.advance(minute)
    assert.notEqual((await scene.backend.sweep()).changed, 0)
    assert.equal((await scene.backend.sweep()).changed, 0)
  })

  suite.needing('reopen').test('the rate of a value outlives a restart', async (scene) => {
    await scene.queue('q', rated)
    await scene.send('q', ...['a1', 'a2', 'a3'].map((name) => of('a', name)))
    assert.equal((await drain(scene, 'q')).length, 2)
    await scene.reopen()
    assert.deepEqual(await receiveNames(scene), [])
    await scene.advance(2 * second)
    assert.deepEqual(await receiveNames(scene), ['a3'])
  })
}

function describeChanges(suite: ContractSuite): void {
  const change = (scene: Scene, settings: ReturnType<typeof ceilings>): Promise<unknown> =>
    scene.backend.changeQueue({ queue: 'q', changes: settings })

  suite.test('a new limit counts messages whose values are known', async (scene) => {
    await scene.queue('q', limits({ key: 'customer', rate: { max: 1_000, perMs: second } }))
    await scene.send('q', ...['a1', 'a2', 'a3'].map((name) => of('a', name)))
    assert.deepEqual(await receiveNames(scene, 1), ['a1'])
    await change(scene, perCustomer)
    assert.deepEqual(await receiveNames(scene), [])
    await change(scene, limits({ key: 'customer', running: 2 }))
    assert.deepEqual(await receiveNames(scene), ['a2'])
  })

  suite.test(
    'a message stored before its queue had the key is not limited by it',
    async (scene) => {
      await scene.queue('q')
      await scene.send('q', of('a', 'a1'), of('a', 'a2'))
      await change(scene, perCustomer)
      await scene.send('q', of('a', 'a3'), of('a', 'a4'))
      assert.deepEqual((await receiveNames(scene)).toSorted(), ['a1', 'a2', 'a3'])
    },
  )

  suite
    .needing('ordered')
    .test('without its limits the queue gives out all that waits, in order', async (scene) => {
      await scene.queue('q', perCustomer)
      await scene.send('q', of('a', 'a1'), of('a', 'a2'), of('b', 'b1'), of('b', 'b2'))
      assert.equal((await receiveNames(scene)).length, 2)
      await change(scene, ceilings({}))
      await scene.send('q', of('a', 'a3'))
      assert.deepEqual(await receiveNames(scene), ['a2', 'b2', 'a3'])
    })

  suite.test('another key takes the place of the first', async (scene) => {
    const both = [
      { key: 'customer', running: 1 },
      { key: 'name', running: 1 },
    ] as const
    await scene.queue('q', limits(...both))
    await scene.send('q', of('a', 'n1'), of('a', 'n2'), of('b', 'n1'), of('b', 'n3'), of('b', 'n3'))
    const first = await receiveNames(scene)
    assert.equal(first.length, 2)
    await change(scene, limits(both[1]))
    const more = await receiveNames(scene)
    assert.deepEqual([...first, ...more].toSorted(), ['n1', 'n2', 'n3'])
  })
}

function describeJobs(suite: ContractSuite): void {
  suite.test('jobs are limited by their payloads, whatever their types', async (scene) => {
    await scene.queue('q', perCustomer)
    for (const type of ['OCR', 'OMR', 'OCR']) await enqueue(scene, { type, payload: of('a', type) })
    await enqueue(scene, { payload: of('b', 'b1') })
    assert.deepEqual((await receiveNames(scene)).toSorted(), ['OCR', 'b1'])
    assert.deepEqual(await receiveNames(scene), [])
  })

  suite.test('a payload with a wrong value is refused with all of its call', async (scene) => {
    await scene.queue('q', perCustomer)
    const job = { type: 'OCR', maxAttempts: 1 }
    const jobs = [of('a', 'fine'), of({}, 'wrong')].map((payload) => ({ ...job, payload }))
    await rejects(jobsOf(scene).enqueue({ queue: 'q', jobs }), 'invalid_message')
    assert.equal((await scene.counts('q')).ready, 0)
  })

  suite.test('jobs that wait for a limit are not stuck', async (scene) => {
    await scene.queue('q', { visibilityMs: 600 * minute, ...perCustomer })
    await enqueue(scene, { payload: of('a', 'a1') })
    await scene.receiveOne('q')
    for (const customer of ['a', 'b']) await enqueue(scene, { payload: of(customer, 'n') })
    await scene.advance(60 * minute)
    const stuck = await jobsOf(scene).stuck({
      ...{ queue: 'q', status: 'pending', olderThanMs: 30 * minute, limit: 10 },
    })
    assert.equal(stuck.length, 1)
  })
}
