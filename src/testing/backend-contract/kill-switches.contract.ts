import assert from 'node:assert/strict'
import type { SwitchScope } from '../../backends/switch-store.ts'
import { drain, everyPage, lift, ofTenant, switchesOf, turnOn } from './gate-scene.ts'
import { enqueue, readJob } from './job-scene.ts'
import { grouped, minute, rejects, type Scene, second } from './scene.ts'
import type { ContractSuite } from './suite.ts'

export function describeKillSwitches(all: ContractSuite): void {
  const suite = all.needing('killSwitches')
  suite.describe('kill switches', () => {
    describeScopes(suite.needing('trackedJobs'))
    describeDiverting(suite.needing('trackedJobs'))
    describeFifoQueues(suite.needing('fifo'))
    describeRecords(suite)
  })
}

const obeys = { queue: ['ALL_PAUSED'], types: { OCR: ['LLM_PAUSED', 'OCR_PAUSED'] } }

/** Two jobs, the first of which every switch below means. */
async function sendBoth(scene: Scene): Promise<void> {
  await enqueue(scene, { type: 'OCR', payload: '"meant"', tier: 'lite', tenant: 'x' })
  await enqueue(scene, { type: 'OMR', payload: '"other"', tier: 'premium', tenant: 'y' })
}

const narrow: readonly [SwitchScope, string][] = [
  ['type', 'OCR'],
  ['tier', 'lite'],
  ['tenant', 'x'],
  ['name', 'OCR_PAUSED'],
]

const wide: readonly [SwitchScope, string][] = [
  ['queue', 'q'],
  ['name', 'ALL_PAUSED'],
]

function describeScopes(suite: ContractSuite): void {
  for (const [scope, value] of narrow) {
    suite.test(
      `the switch on ${scope} ${value} holds what it means, until lifted`,
      async (scene) => {
        await scene.queue('q', { obeys })
        await sendBoth(scene)
        await turnOn(scene, scope, value)
        assert.deepEqual(await drain(scene, 'q'), ['"other"'])
        await sendBoth(scene)
        assert.deepEqual(await drain(scene, 'q'), ['"other"'])
        assert.deepEqual(await scene.counts('q'), { ready: 2, leased: 0, delayed: 0 })
        await sendBoth(scene)
        await lift(scene, scope, value)
        const deliveries = await scene.receive('q')
        assert.deepEqual(scene.inOrder(deliveries.map(({ body }) => body)), [
          '"meant"',
          '"meant"',
          '"meant"',
          '"other"',
        ])
        assert.ok(deliveries.every(({ receiveCount }) => receiveCount === 1))
      },
    )

    suite.test(`the switch on ${scope} ${value} diverts what it means`, async (scene) => {
      const dead = await scene.queueWithDeadLetters('q', 3, { obeys })
      await sendBoth(scene)
      await turnOn(scene, scope, value, { mode: 'divert' })
      assert.deepEqual(await drain(scene, 'q'), ['"other"'])
      assert.deepEqual(await scene.counts('q'), { ready: 0, leased: 0, delayed: 0 })
      // The switch on a tenant holds its dead letters as well.
      await lift(scene, scope, value)
      const letter = await scene.receiveOne(dead)
      assert.equal(letter.body, '"meant"')
      assert.match(letter.deadLetterOrigin?.reason ?? '', new RegExp(`kill switch .*${value}`))
    })
  }

  for (const [scope, value] of wide) {
    suite.test(`the switch on ${scope} ${value} holds the whole queue`, async (scene) => {
      await scene.queue('q', { obeys })
      await scene.queue('free')
      await sendBoth(scene)
      await scene.send('free', 'free')
      await turnOn(scene, scope, value)
      assert.deepEqual(await scene.receive('q'), [])
      assert.deepEqual(await scene.receiveBodies('free'), ['free'])
      await lift(scene, scope, value)
      assert.deepEqual(await scene.receiveBodies('q'), ['"meant"', '"other"'])
    })

    suite.test(`the switch on ${scope} ${value} diverts the whole queue`, async (scene) => {
      const dead = await scene.queueWithDeadLetters('q', 3, { obeys })
      await sendBoth(scene)
      await turnOn(scene, scope, value, { mode: 'divert' })
      assert.deepEqual(await scene.receive('q'), [])
      assert.deepEqual(await scene.receiveBodies(dead), ['"meant"', '"other"'])
    })
  }

  suite.test('a switch that no queue obeys stops nothing', async (scene) => {
    await scene.queue('q', { obeys })
    await sendBoth(scene)
    await turnOn(scene, 'name', 'OTHERS_PAUSED')
    await turnOn(scene, 'tenant', 'z')
    assert.deepEqual(await scene.receiveBodies('q'), ['"meant"', '"other"'])
  })

  suite.test('names that only the caller holds count for its own receive', async (scene) => {
    await scene.queue('q', { obeys })
    await sendBoth(scene)
    assert.deepEqual(await scene.receive('q', { heldNames: ['ALL_PAUSED'] }), [])
    await rejects(scene.receive('q', { heldNames: [''] }), 'invalid_argument')
    assert.deepEqual(await drain(scene, 'q', { heldNames: ['LLM_PAUSED'] }), ['"other"'])
    await sendBoth(scene)
    assert.deepEqual(await scene.receiveBodies('q', { heldNames: ['UNKNOWN'] }), [
      '"meant"',
      '"meant"',
      '"other"',
    ])
  })
}

function describeDiverting(suite: ContractSuite): void {
  suite.test('a diverted job has failed, and says why', async (scene) => {
    await scene.queue('q', { obeys })
    const { id } = await enqueue(scene, { type: 'OCR' })
    await turnOn(scene, 'name', 'LLM_PAUSED', { mode: 'divert' })
    assert.deepEqual(await scene.receive('q'), [])
    const { status, error, attemptsMade } = await readJob(scene, id)
    assert.deepEqual(
      [status, error, attemptsMade],
      ['failed', 'Diverted by the kill switch LLM_PAUSED.', 0],
    )
    assert.deepEqual(await scene.counts('q'), { ready: 0, leased: 0, delayed: 0 })
  })

  suite.test('a plain message that cannot be diverted is held', async (scene) => {
    await scene.queue('q')
    await scene.send('q', ...ofTenant('x', 'plain'))
    const { id } = await enqueue(scene, { tenant: 'x' })
    await scene.send('q', 'free')
    await turnOn(scene, 'tenant', 'x', { mode: 'divert' })
    assert.deepEqual(await scene.receiveBodies('q'), ['free'])
    assert.equal((await readJob(scene, id)).status, 'failed')
    await lift(scene, 'tenant', 'x')
    assert.deepEqual(await scene.receiveBodies('q'), ['plain'])
  })

  suite.test('what was held is diverted when the switch is turned to that', async (scene) => {
    const dead = await scene.queueWithDeadLetters('q', 3)
    await scene.send('q', ...ofTenant('x', 'x1'), 'free')
    await turnOn(scene, 'tenant', 'x')
    assert.deepEqual(await scene.receiveBodies('q'), ['free'])
    await turnOn(scene, 'tenant', 'x', { mode: 'divert' })
    assert.deepEqual(await scene.receiveBodies('q'), [])
    assert.deepEqual(await scene.receiveBodies(dead), [], 'the tenant is held there too')
  })

  suite.test('hold goes before divert', async (scene) => {
    await scene.queueWithDeadLetters('q', 3)
    await enqueue(scene, { type: 'OCR', tier: 'lite' })
    await turnOn(scene, 'type', 'OCR', { mode: 'divert' })
    await turnOn(scene, 'tier', 'lite')
    assert.deepEqual(await scene.receive('q'), [])
    assert.equal((await scene.counts('q')).ready, 1)
    await lift(scene, 'tier', 'lite')
    assert.deepEqual(await scene.receive('q'), [])
    assert.equal((await scene.counts('q')).ready, 0)
  })

  suite.test('a queue of plain messages without dead letters cannot be diverted', async (scene) => {
    await scene.queue('q')
    await enqueue(scene)
    await turnOn(scene, 'queue', 'q', { mode: 'divert' })
    await lift(scene, 'queue', 'q')
    await scene.send('q', 'plain')
    await rejects(turnOn(scene, 'queue', 'q', { mode: 'divert' }), 'dead_letter_missing')
    assert.deepEqual(await switchesOf(scene).list(), [])
  })
}

function describeFifoQueues(suite: ContractSuite): void {
  suite.test('a FIFO queue is held as a whole, and by nothing narrower', async (scene) => {
    await scene.fifoQueue('q.fifo', { obeys: { queue: ['ALL_PAUSED'], types: {} } })
    await scene.send('q.fifo', grouped('x', 'x1'), grouped('y', 'y1'))
    await turnOn(scene, 'name', 'ALL_PAUSED')
    assert.deepEqual(await scene.receiveBodies('q.fifo'), [])
    await lift(scene, 'name', 'ALL_PAUSED')
    await turnOn(scene, 'tenant', 'x')
    assert.deepEqual(await scene.receiveBodies('q.fifo'), ['x1', 'y1'])
  })

  suite.test('a FIFO queue is diverted as a whole, in order', async (scene) => {
    const dead = await scene.queueWithDeadLetters('q.fifo', 3, { type: 'fifo' })
    await scene.sendToGroup('q.fifo', 'x', 'x1', 'x2')
    await scene.sendToGroup('q.fifo', 'y', 'y1')
    await turnOn(scene, 'queue', 'q.fifo', { mode: 'divert' })
    assert.deepEqual(await scene.receiveBodies('q.fifo'), [])
    assert.deepEqual(await scene.counts('q.fifo'), { ready: 0, leased: 0, delayed: 0 })
    assert.deepEqual(await scene.receiveBodies(dead), ['x1', 'x2', 'y1'])
  })

  suite.test('a FIFO queue without dead letters is held instead', async (scene) => {
    await scene.fifoQueue('q.fifo', { obeys: { queue: ['ALL_PAUSED'], types: {} } })
    await scene.sendToGroup('q.fifo', 'x', 'x1')
    await turnOn(scene, 'name', 'ALL_PAUSED', { mode: 'divert' })
    assert.deepEqual(await scene.receiveBodies('q.fifo'), [])
    await lift(scene, 'name', 'ALL_PAUSED')
    assert.deepEqual(await scene.receiveBodies('q.fifo'), ['x1'])
  })

  suite.test('a FIFO queue refuses switches for its types', async (scene) => {
    const types = { OCR: ['OCR_PAUSED'] }
    await rejects(scene.fifoQueue('q.fifo', { obeys: { queue: [], types } }), 'invalid_argument')
  })
}

function describeRecords(suite: ContractSuite): void {
  suite.test('the switches that are on are listed, with who and why', async (scene) => {
    const record = await turnOn(scene, 'type', 'OCR', { note: 'too slow', forMs: minute })
    await scene.advance(second)
    await turnOn(scene, 'name', 'LLM_PAUSED', { mode: 'divert', by: 'ben' })
    const { setAt } = record
    assert.deepEqual(await switchesOf(scene).list(), [
      {
        ...{ scope: 'name', value: 'LLM_PAUSED', mode: 'divert', by: 'ben', note: null },
        ...{ setAt: setAt + second, until: null },
      },
      {
        ...{ scope: 'type', value: 'OCR', mode: 'hold', by: 'anna', note: 'too slow' },
        ...{ setAt, until: setAt + minute },
      },
    ])
  })

  suite.test('lifting a switch that is not on says so and leaves no trace', async (scene) => {
    const switches = switchesOf(scene)
    const target = { scope: 'type', value: 'OCR', by: 'anna' } as const
    assert.equal(await switches.lift(target), false)
    assert.deepEqual(await switches.history({ limit: 10 }), { items: [] })
  })

  suite.test('history tells who turned what on and off, newest first', async (scene) => {
    const switches = switchesOf(scene)
    await turnOn(scene, 'type', 'OCR', { note: 'too slow' })
    await turnOn(scene, 'tier', 'lite', { mode: 'divert', forMs: second })
    await switches.lift({ scope: 'type', value: 'OCR', by: 'ben', note: 'better' })
    await scene.advance(minute)
    await scene.sweep()
    const events = await everyPage((after) => switches.history({ limit: 3, ...after }))
    const told = events.map(({ value, event, mode, by, note }) => [value, event, mode, by, note])
    assert.deepEqual(told, [
      ['lite', 'lifted', null, 'clock', null],
      ['OCR', 'lifted', null, 'ben', 'better'],
      ['lite', 'set', 'divert', 'anna', null],
      ['OCR', 'set', 'hold', 'anna', 'too slow'],
    ])
    await rejects(switches.history({ limit: 3, after: 'nowhere' }), 'invalid_argument')
  })

  suite.test('switches that cannot be are refused', async (scene) => {
    const set = (changes: object): Promise<unknown> => turnOn(scene, 'type', 'OCR', changes)
    for (const wrong of [
      { scope: 'colour' },
      { mode: 'stop' },
      { value: '' },
      { value: 'a\0b' },
      { by: '' },
      { by: '\ud800' },
      { note: 'n'.repeat(1_025) },
      { forMs: 0 },
    ]) {
      await rejects(set(wrong), 'invalid_argument')
    }
    await rejects(turnOn(scene, 'queue', 'missing'), 'queue_not_found')
    const withoutName = { scope: 'type', value: 'OCR', by: '' } as const
    await rejects(switchesOf(scene).lift(withoutName), 'invalid_argument')
  })
}
