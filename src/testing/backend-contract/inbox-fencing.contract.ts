import assert from 'node:assert/strict'
import { claim, createInbox, eventsOf, inboxesOf, listedItems } from './inbox-scene.ts'
import { grouped, hour, minute, second } from './scene.ts'
import type { ContractSuite } from './suite.ts'

export function describeInboxFencing(all: ContractSuite): void {
  const suite = all.needing('inboxes')
  suite.describe('the fence around a claim', () => {
    describeFencing(suite)
    describeFifoQueues(suite.needing('fifo'))
  })
}

function describeFencing(suite: ContractSuite): void {
  const actions = ['renew', 'resolve', 'release'] as const

  for (const action of actions) {
    suite.test(`${action} is for the holder of a live claim alone`, async (scene) => {
      const [id = ''] = await createInbox(scene, 'first')
      const inboxes = inboxesOf(scene)
      const as = (by: string) => inboxes[action]({ queue: 'inbox', id, by })
      assert.deepEqual(await as('anna'), { status: 'not_yours', holder: null })
      await claim(scene, 'anna', { leaseMs: minute })
      assert.deepEqual(await as('ben'), { status: 'not_yours', holder: 'anna' })
      await scene.advance(minute)
      assert.deepEqual(await as('anna'), { status: 'lapsed' })
      assert.deepEqual(await as('ben'), { status: 'not_yours', holder: null })
      await claim(scene, 'ben')
      assert.deepEqual(await as('anna'), { status: 'not_yours', holder: 'ben' })
      assert.deepEqual(await listedItems(scene), [['first', 'ben']])
      assert.equal((await as('ben')).status, 'done')
    })

    suite.test(
      `${action} of a claim that a receiver has followed changes nothing`,
      async (scene) => {
        const [id = ''] = await createInbox(scene, 'first')
        await claim(scene, 'anna', { leaseMs: minute })
        await scene.advance(minute)
        const { receipt } = await scene.receiveOne('inbox')
        const result = await inboxesOf(scene)[action]({ queue: 'inbox', id, by: 'anna' })
        assert.deepEqual(result, { status: 'not_yours', holder: null })
        assert.equal((await scene.acknowledge('inbox', receipt)).status, 'settled')
      },
    )

    suite.test(`${action} with the token of an earlier claim is stale`, async (scene) => {
      const [id = ''] = await createInbox(scene, 'first')
      const { claim: first } = await claim(scene, 'anna', { leaseMs: minute })
      await scene.advance(minute)
      const { claim: second_ } = await claim(scene, 'anna')
      assert.ok(first !== null && second_ !== null && second_.token > first.token)
      const as = (token: number) =>
        inboxesOf(scene)[action]({ queue: 'inbox', id, by: 'anna', token })
      assert.deepEqual(await as(first.token), { status: 'stale' })
      assert.equal((await as(second_.token)).status, 'done')
    })
  }

  suite
    .needing('lateReceipts')
    .test('a former receiver deletes nothing while a person has the message', async (scene) => {
      const [id = ''] = await createInbox(scene, 'first')
      const { receipt } = await scene.receiveOne('inbox', { visibilityMs: second })
      await scene.advance(second)
      await claim(scene, 'anna')
      const outcome = { kind: 'acknowledge', anyLease: true } as const
      const held = { status: 'stale', isHeld: true }
      assert.deepEqual(await scene.settle('inbox', receipt, outcome), held)
      const result = await inboxesOf(scene).resolve({ queue: 'inbox', id, by: 'anna' })
      assert.equal(result.status, 'done')
      assert.deepEqual(await listedItems(scene), [])
      assert.deepEqual(await eventsOf(scene, id), [
        ['claimed', 'anna'],
        ['resolved', 'anna'],
      ])
    })
}

function describeFifoQueues(suite: ContractSuite): void {
  const queue = 'inbox.fifo'

  suite.test('in a FIFO queue a claim locks the group, as a receive does', async (scene) => {
    await scene.fifoQueue(queue, { visibilityMs: hour })
    const [a1 = '', a2 = ''] = await scene.sendToGroup(queue, 'a', 'a1', 'a2')
    const [b1 = ''] = await scene.send(queue, grouped('b', 'b1'))
    const inboxes = inboxesOf(scene)
    const behind = { status: 'not_ready', because: 'behind' }
    assert.deepEqual(await inboxes.claim({ queue, id: a2, by: 'anna' }), behind)
    await claim(scene, 'anna', { queue, id: a1 })
    assert.deepEqual(await inboxes.claim({ queue, id: a2, by: 'ben' }), behind)
    const { message } = await claim(scene, 'ben', { queue })
    assert.equal(message.id, b1)
    assert.deepEqual(await inboxes.claim({ queue, by: 'cleo' }), { status: 'none' })
    await inboxes.resolve({ queue, id: a1, by: 'anna' })
    assert.equal((await claim(scene, 'cleo', { queue, id: a2 })).message.body, 'a2')
  })

  suite.test('in a FIFO queue a released message comes before those behind it', async (scene) => {
    await scene.fifoQueue(queue, { visibilityMs: hour })
    const [a1 = ''] = await scene.sendToGroup(queue, 'a', 'a1', 'a2')
    await claim(scene, 'anna', { queue })
    await inboxesOf(scene).release({ queue, id: a1, by: 'anna' })
    assert.deepEqual(await scene.receiveBodies(queue, { max: 1 }), ['a1'])
  })

  suite.test('in a FIFO queue a lapsed claim opens the group again', async (scene) => {
    await scene.fifoQueue(queue, { visibilityMs: minute })
    const [a1 = ''] = await scene.sendToGroup(queue, 'a', 'a1', 'a2')
    await claim(scene, 'anna', { queue, id: a1 })
    await scene.advance(minute)
    const late = await inboxesOf(scene).resolve({ queue, id: a1, by: 'anna' })
    assert.deepEqual(late, { status: 'lapsed' })
    assert.deepEqual(await scene.receiveBodies(queue), ['a1', 'a2'])
  })

  suite.test('a dead letter of a FIFO queue is claimed by the id it kept', async (scene) => {
    const dead = await scene.queueWithDeadLetters(queue, 1, { type: 'fifo', visibilityMs: minute })
    const [id = ''] = await scene.sendToGroup(queue, 'a', 'a1')
    const { receipt } = await scene.receiveOne(queue)
    await scene.settle(queue, receipt, { kind: 'deadLetter', reason: 'unreadable' })
    const { message } = await claim(scene, 'anna', { queue: dead, id })
    assert.deepEqual([message.id, message.deadLetterOrigin?.source], [id, queue])
    assert.equal((await inboxesOf(scene).resolve({ queue: dead, id, by: 'anna' })).status, 'done')
    assert.deepEqual(await eventsOf(scene, id, dead), [
      ['claimed', 'anna'],
      ['resolved', 'anna'],
    ])
  })
}
