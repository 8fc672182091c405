import assert from 'node:assert/strict'
import { leaseMsMax } from '../../core/limits.ts'
import { describeAnyLease, leasedOne } from './any-lease.contract.ts'
import { assertRefused, hour, minute, rejects, type Scene, second } from './scene.ts'
import type { ContractSuite } from './suite.ts'

export function describeLeases(suite: ContractSuite): void {
  suite.describe('leases', () => {
    describeExtension(suite)
    describeRefusals(suite)
    describeAnyLease(suite.needing('lateReceipts'))
    describeForeignReceipts(suite)
    describeStates(suite)
  })
}

function describeExtension(suite: ContractSuite): void {
  suite.test('an extended lease ends that long after the extension', async (scene) => {
    const { receipt, leaseExpiresAt } = await leasedOne(scene)
    await scene.advance(5 * second)
    const result = await scene.extend('q', receipt, 20 * second)
    assert.ok(result.status === 'extended')
    assert.ok(result.leaseExpiresAt > leaseExpiresAt)
    await scene.advance(19 * second)
    assert.deepEqual(await scene.receiveBodies('q'), [])
    await scene.advance(2 * second)
    assert.deepEqual(await scene.receiveBodies('q'), ['body'])
  })

  suite.test('an extension can shorten a lease', async (scene) => {
    const { receipt } = await leasedOne(scene)
    assert.equal((await scene.extend('q', receipt, 2 * second)).status, 'extended')
    await scene.advance(3 * second)
    assert.deepEqual(await scene.receiveBodies('q'), ['body'])
  })

  suite.test(
    'a lease that was extended past its first end is still good to acknowledge',
    async (scene) => {
      const { receipt } = await leasedOne(scene)
      await scene.extend('q', receipt, minute)
      await scene.advance(30 * second)
      assert.equal((await scene.acknowledge('q', receipt)).status, 'settled')
      await scene.advance(hour)
      assert.deepEqual(await scene.receiveBodies('q'), [])
    },
  )

  suite.test('an extension to 0 hands the message back, and the receive counts', async (scene) => {
    const { receipt } = await leasedOne(scene)
    assert.equal((await scene.extend('q', receipt, 0)).status, 'extended')
    assert.deepEqual(await scene.counts('q'), { ready: 1, leased: 0, delayed: 0 })
    assert.equal((await scene.receiveOne('q')).receiveCount, 2)
  })

  suite.test('after an extension to 0 the holder may still acknowledge', async (scene) => {
    const { receipt } = await leasedOne(scene)
    await scene.extend('q', receipt, 0)
    assert.equal((await scene.acknowledge('q', receipt)).status, 'settled')
    assert.deepEqual(await scene.receiveBodies('q'), [])
  })

  suite.test(
    'a lease with all its extensions ends twelve hours after it was given',
    async (scene) => {
      const { receipt } = await leasedOne(scene)
      const step = 2 * hour
      for (let passed = 0; passed < leaseMsMax; passed += step) {
        await scene.extend('q', receipt, step + second)
        await scene.advance(step)
      }
      await scene.advance(second)
      assert.notEqual((await scene.extend('q', receipt, hour)).status, 'extended')
      assert.deepEqual(await scene.receiveBodies('q'), ['body'])
    },
  )

  suite.test('each lease of a call has its own answer', async (scene) => {
    await scene.queue('q')
    await scene.send('q', 'one', 'two', 'three')
    const [one, two, three] = await scene.receive('q')
    assert.ok(one && two && three)
    await scene.acknowledge('q', two.receipt)
    const results = await scene.backend.extend({
      queue: 'q',
      leases: [
        { receipt: one.receipt, visibilityMs: minute },
        { receipt: two.receipt, visibilityMs: minute },
        { receipt: 'garbage', visibilityMs: minute },
        { receipt: three.receipt, visibilityMs: 0 },
      ],
    })
    assert.deepEqual(
      results.map(({ status }) => status),
      ['extended', 'gone', 'refused', 'extended'],
    )
  })
}

function describeRefusals(suite: ContractSuite): void {
  suite.test('a lapsed lease cannot be extended', async (scene) => {
    const { receipt } = await leasedOne(scene)
    await scene.advance(11 * second)
    assert.deepEqual(await scene.extend('q', receipt, minute), { status: 'lapsed' })
    assert.deepEqual(await scene.receiveBodies('q'), ['body'])
  })

  suite.test('a lost lease is refused, however long an extension is requested', async (scene) => {
    const { receipt } = await leasedOne(scene)
    await scene.advance(11 * second)
    assert.deepEqual(await scene.extend('q', receipt, leaseMsMax), { status: 'lapsed' })
    await scene.receiveOne('q')
    await scene.advance(second)
    assert.deepEqual(await scene.extend('q', receipt, leaseMsMax), { status: 'stale' })
  })

  suite.test('once the message is leased again, the old receipt is stale', async (scene) => {
    const old = await leasedOne(scene)
    await scene.advance(11 * second)
    const current = await scene.receiveOne('q')
    assert.deepEqual(await scene.extend('q', old.receipt, minute), { status: 'stale' })
    for (const outcome of [
      { kind: 'acknowledge' },
      { kind: 'retry', delayMs: 0 },
      { kind: 'release' },
    ] as const) {
      assert.deepEqual(await scene.settle('q', old.receipt, outcome), { status: 'stale' })
    }
    assert.deepEqual(await scene.counts('q'), { ready: 0, leased: 1, delayed: 0 })
    assert.equal((await scene.acknowledge('q', current.receipt)).status, 'settled')
  })

  suite.test('a stale extension does not lengthen the lease of the new holder', async (scene) => {
    const old = await leasedOne(scene)
    await scene.advance(11 * second)
    await scene.receiveOne('q')
    await scene.extend('q', old.receipt, hour)
    await scene.advance(11 * second)
    assert.deepEqual(await scene.receiveBodies('q'), ['body'])
  })

  suite.test('the receipt of a released message is stale', async (scene) => {
    await scene.queue('q')
    for (const outcome of [
      { kind: 'retry', delayMs: 0 },
      { kind: 'retry', delayMs: minute },
      { kind: 'release' },
    ] as const) {
      await scene.send('q', outcome.kind)
      const { receipt } = await scene.receiveOne('q')
      assert.equal((await scene.settle('q', receipt, outcome)).status, 'settled')
      assert.deepEqual(await scene.extend('q', receipt, minute), { status: 'stale' })
      assert.deepEqual(await scene.settle('q', receipt, outcome), { status: 'stale' })
      assert.deepEqual(await scene.acknowledge('q', receipt), { status: 'stale' })
      await scene.backend.purgeQueue({ queue: 'q' })
    }
  })

  suite.test('the receipt of a message that no longer exists is gone', async (scene) => {
    const { receipt } = await leasedOne(scene)
    await scene.acknowledge('q', receipt)
    assert.deepEqual(await scene.extend('q', receipt, minute), { status: 'gone' })
    assert.deepEqual(await scene.acknowledge('q', receipt), { status: 'gone' })
    assert.deepEqual(await scene.settle('q', receipt, { kind: 'release' }), { status: 'gone' })
  })

  suite.test(
    'extending and acknowledging in any order never brings a message back',
    async (scene) => {
      await scene.queue('q', { visibilityMs: 10 * second })
      const bodies = Array.from({ length: 60 }, (_, index) => `m${index}`)
      await scene.send('q', ...bodies)
      const deliveries = await scene.receive('q', { max: 60 })
      const calls = deliveries.flatMap(({ receipt }, index) => {
        const extend = () => scene.extend('q', receipt, minute)
        const acknowledge = () => scene.acknowledge('q', receipt)
        return index % 2 === 0 ? [extend, acknowledge, extend] : [acknowledge, extend, acknowledge]
      })
      const results = await Promise.all(calls.map((call) => call()))
      assert.equal(results.filter(({ status }) => status === 'settled').length, 60)
      await scene.advance(hour)
      assert.deepEqual(await scene.receiveBodies('q'), [])
      assert.deepEqual(await scene.counts('q'), { ready: 0, leased: 0, delayed: 0 })
    },
  )
}

function describeForeignReceipts(suite: ContractSuite): void {
  suite.test('a receipt of another queue is refused for its entry', async (scene) => {
    const mine = await leasedOne(scene, 'mine')
    const other = await leasedOne(scene, 'other')
    assertRefused(await scene.extend('mine', other.receipt, minute), 'receipt_invalid')
    assertRefused(await scene.acknowledge('mine', other.receipt), 'receipt_invalid')
    assert.equal((await scene.acknowledge('mine', mine.receipt)).status, 'settled')
    assert.equal((await scene.acknowledge('other', other.receipt)).status, 'settled')
  })

  suite.test('a mangled receipt is refused for its entry', async (scene) => {
    const { receipt } = await leasedOne(scene)
    const last = receipt.at(-1) === 'a' ? 'b' : 'a'
    for (const bad of ['', 'garbage', `${receipt}x`, `${receipt.slice(0, -1)}${last}`, '\u0000']) {
      assertRefused(await scene.extend('q', bad, minute), 'receipt_invalid')
      assertRefused(await scene.acknowledge('q', bad), 'receipt_invalid')
    }
    assert.equal((await scene.acknowledge('q', receipt)).status, 'settled')
  })

  suite.test('a call for an unknown queue, or without entries, is refused whole', async (scene) => {
    const { receipt } = await leasedOne(scene)
    await rejects(scene.extend('nowhere', receipt, minute), 'queue_not_found')
    await rejects(scene.acknowledge('nowhere', receipt), 'queue_not_found')
    await rejects(scene.backend.extend({ queue: 'q', leases: [] }), 'invalid_argument')
    await rejects(scene.backend.settle({ queue: 'q', settlements: [] }), 'invalid_argument')
  })

  suite.test('an extension outside its limits is refused for its entry alone', async (scene) => {
    const { receipt } = await leasedOne(scene)
    const leases = [leaseMsMax + 1, minute, -1].map((visibilityMs) => ({ receipt, visibilityMs }))
    const [tooLong, extended, negative] = await scene.backend.extend({ queue: 'q', leases })
    assert.ok(tooLong && extended && negative)
    assertRefused(tooLong, 'invalid_argument')
    assert.equal(extended.status, 'extended')
    assertRefused(negative, 'invalid_argument')
  })
}

function describeStates(suite: ContractSuite): void {
  const states = (scene: Scene, ...receipts: string[]): Promise<readonly string[]> =>
    scene.backend.leaseStates({ queue: 'q', receipts })

  suite
    .needing('exactFigures')
    .test('the state of a lease is read without using it', async (scene) => {
      const { receipt } = await leasedOne(scene)
      assert.deepEqual(await states(scene, receipt, receipt), ['live', 'live'])
      await scene.advance(10 * second)
      assert.deepEqual(await states(scene, receipt), ['lapsed'])
      const { receipt: later } = await scene.receiveOne('q')
      assert.deepEqual(await states(scene, receipt, later), ['stale', 'live'])
      await scene.acknowledge('q', later)
      assert.deepEqual(await states(scene, receipt, later), ['gone', 'gone'])
    })

  suite.test('a released lease is stale, and one of a purged message is gone', async (scene) => {
    const { receipt } = await leasedOne(scene)
    await scene.settle('q', receipt, { kind: 'retry', delayMs: minute })
    assert.deepEqual(await states(scene, receipt), ['stale'])
    await scene.advance(minute)
    const { receipt: purged } = await scene.receiveOne('q')
    await scene.backend.purgeQueue({ queue: 'q' })
    assert.deepEqual(await states(scene, purged), ['gone'])
  })

  suite.test('a receipt of another queue names nothing here', async (scene) => {
    const { receipt } = await leasedOne(scene, 'other')
    await scene.queue('q')
    assert.deepEqual(await states(scene, receipt, 'garbage'), ['gone', 'gone'])
    await rejects(states(scene), 'invalid_argument')
    await rejects(
      scene.backend.leaseStates({ queue: 'nowhere', receipts: [receipt] }),
      'queue_not_found',
    )
  })
}
