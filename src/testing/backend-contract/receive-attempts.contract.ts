import assert from 'node:assert/strict'
import { minute, second } from './scene.ts'
import type { ContractSuite } from './suite.ts'

const queue = 'q.fifo'

export function describeReceiveAttempts(all: ContractSuite): void {
  const suite = all.needing('fifo', 'receiveAttempts')
  const attempt = { attemptId: 'attempt-1', visibilityMs: 10 * second }

  suite.describe('receive attempts', () => {
    suite.test(
      'the same attempt answers the same messages with the same receipts',
      async (scene) => {
        await scene.fifoQueue(queue)
        await scene.sendToGroup(queue, 'g', 'one', 'two')
        const first = await scene.receive(queue, attempt)
        await scene.advance(5 * second)
        const again = await scene.receive(queue, attempt)
        const essence = (deliveries: typeof first) =>
          deliveries.map(({ id, receipt, token, receiveCount }) => [
            id,
            receipt,
            token,
            receiveCount,
          ])
        assert.equal(first.length, 2)
        assert.deepEqual(essence(again), essence(first))
      },
    )

    suite.test('a repeated attempt starts the visibility anew', async (scene) => {
      await scene.fifoQueue(queue)
      await scene.sendToGroup(queue, 'g', 'one')
      await scene.receive(queue, attempt)
      await scene.advance(6 * second)
      await scene.receive(queue, attempt)
      await scene.advance(6 * second)
      assert.deepEqual(await scene.receiveBodies(queue), [])
      await scene.advance(5 * second)
      assert.deepEqual(await scene.receiveBodies(queue), ['one'])
    })

    suite.test('another attempt, or none, gets what is free', async (scene) => {
      await scene.fifoQueue(queue)
      await scene.sendToGroup(queue, 'g', 'one')
      await scene.receive(queue, attempt)
      assert.deepEqual(await scene.receiveBodies(queue, { ...attempt, attemptId: 'other' }), [])
      assert.deepEqual(await scene.receiveBodies(queue), [])
    })

    suite.test('an attempt is void once one of its messages was acknowledged', async (scene) => {
      await scene.fifoQueue(queue)
      await scene.sendToGroup(queue, 'g', 'one', 'two')
      const [one] = await scene.receive(queue, { ...attempt, max: 1 })
      assert.ok(one)
      await scene.acknowledge(queue, one.receipt)
      assert.deepEqual(await scene.receiveBodies(queue, attempt), ['two'])
    })

    suite.test('an attempt is forgotten after five minutes', async (scene) => {
      await scene.fifoQueue(queue)
      await scene.sendToGroup(queue, 'g', 'one')
      const [first] = await scene.receive(queue, { ...attempt, visibilityMs: 10 * minute })
      await scene.advance(5 * minute + second)
      assert.deepEqual(await scene.receiveBodies(queue, attempt), [])
      assert.ok(first)
      assert.equal((await scene.acknowledge(queue, first.receipt)).status, 'settled')
    })
  })
}
