import assert from 'node:assert/strict'
import type { QueueSettings } from '../../backends/backend.ts'
import { ceilings, lift, ofTenant, turnOn } from './gate-scene.ts'
import { minute, type Scene, second } from './scene.ts'
import type { ContractSuite } from './suite.ts'

export function describeWhenReady(suite: ContractSuite): void {
  suite.describe('waiting until a receive is worth it', () => {
    describeArrivals(suite)
    describeLeaving(suite)
    describeCeilings(suite.needing('ceilings'))
    describeSwitches(suite.needing('killSwitches'))
  })
}

interface Watch {
  isOver: boolean
  readonly controller: AbortController
}

/** Waits for a queue in such a way that the test can look whether the wait is over. */
async function watch(
  scene: Scene,
  { queue = 'q', heldNames = [] as readonly string[] } = {},
): Promise<Watch> {
  const controller = new AbortController()
  const state: Watch = { isOver: false, controller }
  const { signal } = controller
  void scene.backend.whenReady({ queue, heldNames, signal }).then(() => {
    state.isOver = true
  })
  await scene.advance(0)
  return state
}

async function watched(scene: Scene, settings: Partial<QueueSettings> = {}): Promise<Watch> {
  await scene.queue('q', settings)
  const state = await watch(scene)
  assert.equal(state.isOver, false)
  return state
}

/** The wait lasts until this has happened. */
async function endsWith(scene: Scene, state: Watch, event: () => Promise<unknown>): Promise<void> {
  await scene.advance(5 * second)
  assert.equal(state.isOver, false, 'over too early')
  await event()
  await scene.advance(0)
  assert.equal(state.isOver, true, 'still waiting')
}

function describeArrivals(suite: ContractSuite): void {
  suite.test('it is over at once when something is ready', async (scene) => {
    await scene.queue('q')
    await scene.send('q', 'a')
    assert.equal((await watch(scene)).isOver, true)
  })

  suite.test('it ends with a send, and not with one to another queue', async (scene) => {
    await scene.queue('other')
    const state = await watched(scene)
    await scene.send('other', 'a')
    await endsWith(scene, state, () => scene.send('q', 'a'))
  })

  suite.test('it ends with a delay, a retry and a lease', async (scene) => {
    await scene.queue('q')
    await scene.send('q', { body: 'a', delayMs: 10 * second })
    await endsWith(scene, await watch(scene), () => scene.advance(5 * second))
    const { receipt } = await scene.receiveOne('q')
    await scene.settle('q', receipt, { kind: 'retry', delayMs: 10 * second })
    await endsWith(scene, await watch(scene), () => scene.advance(5 * second))
    await scene.receiveOne('q', { visibilityMs: 10 * second })
    await endsWith(scene, await watch(scene), () => scene.advance(5 * second))
  })

  suite.needing('exactFigures').test('it leaves the message to the receive', async (scene) => {
    const state = await watched(scene)
    await endsWith(scene, state, () => scene.send('q', 'a'))
    assert.deepEqual(await scene.counts('q'), { ready: 1, leased: 0, delayed: 0 })
  })
}

function describeLeaving(suite: ContractSuite): void {
  suite.test('it ends when the caller aborts', async (scene) => {
    const state = await watched(scene)
    await endsWith(scene, state, async () => state.controller.abort())
    const { signal } = state.controller
    await scene.backend.whenReady({ queue: 'q', signal })
  })

  suite.test('it ends when the store is closed', async (scene) => {
    const state = await watched(scene)
    await endsWith(scene, state, () => scene.backend.close())
    const { signal } = new AbortController()
    await scene.backend.whenReady({ queue: 'q', signal })
  })

  suite.test('it ends when the queue is deleted, or was never there', async (scene) => {
    const state = await watched(scene)
    await endsWith(scene, state, () => scene.backend.deleteQueue({ queue: 'q' }))
    assert.equal((await watch(scene, { queue: 'missing' })).isOver, true)
  })

  suite.test('it ends for the message of a queue that took the name', async (scene) => {
    await scene.queue('q')
    await scene.backend.deleteQueue({ queue: 'q' })
    await scene.queue('q')
    const state = await watch(scene)
    await endsWith(scene, state, () => scene.send('q', 'body'))
  })
}

function describeCeilings(suite: ContractSuite): void {
  suite.test('a full queue is worth nothing until there is room', async (scene) => {
    await scene.queue('q', ceilings({ running: 1 }))
    await scene.send('q', 'a', 'b')
    const { receipt } = await scene.receiveOne('q', { visibilityMs: 5 * minute })
    await endsWith(scene, await watch(scene), () => scene.acknowledge('q', receipt))
    await scene.receiveOne('q', { visibilityMs: 10 * second })
    await endsWith(scene, await watch(scene), () => scene.advance(5 * second))
  })

  suite.test('a full tenant is worth nothing, another one is', async (scene) => {
    await scene.queue('q', ceilings({ runningPerTenant: 1 }))
    await scene.send('q', ...ofTenant('x', 'x1', 'x2', 'x3'))
    const { receipt } = await scene.receiveOne('q', { visibilityMs: 5 * minute })
    assert.deepEqual(await scene.receive('q'), [])
    await endsWith(scene, await watch(scene), () => scene.send('q', ...ofTenant('y', 'y1')))
    assert.deepEqual(await scene.receiveBodies('q'), ['y1'])
    await endsWith(scene, await watch(scene), () => scene.acknowledge('q', receipt))
  })

  suite.test('a rate is waited for, not longer and not shorter', async (scene) => {
    await scene.queue('q', ceilings({ rate: { max: 1, perMs: 10 * second } }))
    await scene.send('q', 'a', 'b')
    await scene.receiveOne('q')
    const state = await watch(scene)
    await scene.advance(10 * second)
    assert.equal(state.isOver, false)
    await scene.advance(100)
    assert.equal(state.isOver, true)
    assert.deepEqual(await scene.receiveBodies('q'), ['b'])
  })

  suite.test('a higher ceiling ends the wait', async (scene) => {
    await scene.queue('q', ceilings({ running: 1 }))
    await scene.send('q', 'a', 'b')
    await scene.receiveOne('q', { visibilityMs: 5 * minute })
    const changes = ceilings({ running: 2 })
    const raise = (): Promise<unknown> => scene.backend.changeQueue({ queue: 'q', changes })
    await endsWith(scene, await watch(scene), raise)
  })

  suite.test('a parked receive waits for room, and gets what it finds then', async (scene) => {
    await scene.queue('q', ceilings({ running: 1, rate: { max: 2, perMs: 10 * second } }))
    await scene.send('q', 'a', 'b', 'c')
    const { receipt } = await scene.receiveOne('q')
    const parked = scene.receiveBodies('q', { max: 1, waitMs: 20 * second })
    await scene.advance(second)
    await scene.acknowledge('q', receipt)
    assert.deepEqual(await parked, ['b'])
    const { receipt: next } = (await scene.receive('q', { max: 1 }))[0] ?? { receipt: '' }
    assert.equal(next, '', 'the ceiling holds')
  })
}

function describeSwitches(suite: ContractSuite): void {
  suite.test('a held queue is worth nothing until the switch is lifted', async (scene) => {
    await scene.queue('q')
    await scene.send('q', 'a')
    await turnOn(scene, 'queue', 'q')
    await endsWith(scene, await watch(scene), () => lift(scene, 'queue', 'q'))
  })

  suite.test('a held tenant is worth nothing until the time is over', async (scene) => {
    await scene.queue('q')
    await scene.send('q', ...ofTenant('x', 'x1'))
    await turnOn(scene, 'tenant', 'x', { forMs: 10 * second })
    assert.deepEqual(await scene.receive('q'), [])
    await endsWith(scene, await watch(scene), () => scene.advance(5 * second))
    assert.deepEqual(await scene.receiveBodies('q'), ['x1'])
  })

  suite.test('names that the caller holds count for its own wait', async (scene) => {
    await scene.queue('q', { obeys: { queue: ['ALL_PAUSED'], types: {} } })
    await scene.send('q', 'a')
    const held = await watch(scene, { heldNames: ['ALL_PAUSED'] })
    assert.equal((await watch(scene)).isOver, true)
    assert.equal(held.isOver, false)
    await endsWith(scene, held, async () => held.controller.abort())
  })

  suite.test('a parked receive is served when the switch is lifted', async (scene) => {
    await scene.queue('q')
    await scene.send('q', ...ofTenant('x', 'x1'))
    await turnOn(scene, 'tenant', 'x')
    const parked = scene.receiveBodies('q', { waitMs: 20 * second })
    await scene.advance(5 * second)
    await lift(scene, 'tenant', 'x')
    assert.deepEqual(await parked, ['x1'])
  })
}
