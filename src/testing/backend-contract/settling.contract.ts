import assert from 'node:assert/strict'
import type { Delivery, EmittedMessage } from '../../backends/backend.ts'
import {
  assertRefused,
  created,
  grouped,
  hour,
  minute,
  only,
  rejects,
  type Scene,
  second,
} from './scene.ts'
import type { ContractSuite } from './suite.ts'

export function describeSettling(suite: ContractSuite): void {
  suite.describe('settling', () => {
    describeOutcomes(suite)
    describeDeadLettering(suite)
    describeEmits(suite.needing('atomicSettle'))
  })
}

async function leasedOne(scene: Scene): Promise<Delivery> {
  await scene.queue('q', { visibilityMs: 10 * second })
  await scene.send('q', 'body')
  return await scene.receiveOne('q')
}

function describeOutcomes(suite: ContractSuite): void {
  suite.test('an acknowledged message is never received again', async (scene) => {
    const { receipt } = await leasedOne(scene)
    const settled = { status: 'settled', emitted: [], enqueued: [] }
    assert.deepEqual(await scene.acknowledge('q', receipt), settled)
    assert.deepEqual(await scene.counts('q'), { ready: 0, leased: 0, delayed: 0 })
    await scene.advance(minute)
    await scene.reopen()
    assert.deepEqual(await scene.receiveBodies('q'), [])
  })

  suite.test('a retry without delay is ready at once, and the receive counts', async (scene) => {
    const { receipt } = await leasedOne(scene)
    await scene.settle('q', receipt, { kind: 'retry', delayMs: 0 })
    assert.deepEqual(await scene.counts('q'), { ready: 1, leased: 0, delayed: 0 })
    assert.equal((await scene.receiveOne('q')).receiveCount, 2)
  })

  suite.test('a retry with a delay counts as leased until it is due', async (scene) => {
    const { receipt } = await leasedOne(scene)
    await scene.settle('q', receipt, { kind: 'retry', delayMs: minute })
    assert.deepEqual(await scene.counts('q'), { ready: 0, leased: 1, delayed: 0 })
    await scene.advance(59 * second)
    assert.deepEqual(await scene.receiveBodies('q'), [])
    await scene.advance(2 * second)
    assert.equal((await scene.receiveOne('q')).receiveCount, 2)
  })

  suite.test('a release is ready at once, and the receive does not count', async (scene) => {
    const { receipt } = await leasedOne(scene)
    await scene.settle('q', receipt, { kind: 'release' })
    assert.deepEqual(await scene.counts('q'), { ready: 1, leased: 0, delayed: 0 })
    assert.equal((await scene.receiveOne('q')).receiveCount, 1)
  })

  suite.test('a released message keeps its place before younger ones', async (scene) => {
    const { receipt } = await leasedOne(scene)
    await scene.send('q', 'younger')
    await scene.settle('q', receipt, { kind: 'release' })
    assert.deepEqual(await scene.receiveBodies('q'), ['body', 'younger'])
  })

  suite.test('releases use up no receive, however often they happen', async (scene) => {
    const dead = await scene.queueWithDeadLetters('q', 1)
    await scene.send('q', 'patient')
    for (let round = 0; round < 5; round += 1) {
      const { receipt } = await scene.receiveOne('q')
      await scene.settle('q', receipt, { kind: 'release' })
    }
    assert.equal((await scene.receiveOne('q')).receiveCount, 1)
    assert.equal((await scene.counts(dead)).ready, 0)
  })

  suite.test('each settlement of a call has its own answer', async (scene) => {
    await scene.queue('q')
    await scene.send('q', 'one', 'two', 'three')
    const [one, two, three] = await scene.receive('q')
    assert.ok(one && two && three)
    const results = await scene.backend.settle({
      queue: 'q',
      settlements: [
        { receipt: one.receipt, outcome: { kind: 'acknowledge' } },
        { receipt: 'garbage', outcome: { kind: 'acknowledge' } },
        { receipt: one.receipt, outcome: { kind: 'acknowledge' } },
        { receipt: two.receipt, outcome: { kind: 'retry', delayMs: second } },
        { receipt: three.receipt, outcome: { kind: 'release' } },
      ],
    })
    assert.deepEqual(
      results.map(({ status }) => status),
      ['settled', 'refused', 'gone', 'settled', 'settled'],
    )
    assert.deepEqual(await scene.counts('q'), { ready: 1, leased: 1, delayed: 0 })
  })

  suite.test('an outcome outside its limits is refused for its entry', async (scene) => {
    const { receipt } = await leasedOne(scene)
    for (const outcome of [
      { kind: 'retry', delayMs: -1 },
      { kind: 'retry', delayMs: 13 * hour },
      { kind: 'deadLetter', reason: 'x'.repeat(1_025) },
    ] as const) {
      const results = await scene.backend.settle({
        queue: 'q',
        settlements: [
          { receipt, outcome },
          { receipt: 'garbage', outcome: { kind: 'release' } },
        ],
      })
      const [first, second_] = results
      assert.ok(first && second_ && results.length === 2)
      assertRefused(first, 'invalid_argument')
      assertRefused(second_, 'receipt_invalid')
    }
    await rejects(
      scene.settle('nowhere', receipt, { kind: 'retry', delayMs: -1 }),
      'queue_not_found',
    )
    assert.equal((await scene.acknowledge('q', receipt)).status, 'settled')
  })

  suite.needing('reopen').test('what was settled stays settled after a restart', async (scene) => {
    await scene.queue('q', { visibilityMs: 10 * second })
    await scene.send('q', 'acknowledged', 'released')
    const [first, second_] = await scene.receive('q')
    assert.ok(first && second_)
    await scene.acknowledge('q', first.receipt)
    await scene.settle('q', second_.receipt, { kind: 'release' })
    await scene.reopen()
    await scene.advance(minute)
    assert.deepEqual(await scene.receiveBodies('q'), ['released'])
    assert.deepEqual(await scene.acknowledge('q', first.receipt), { status: 'gone' })
  })
}

function describeDeadLettering(suite: ContractSuite): void {
  suite.test(
    'a dead-lettered message is in the dead-letter queue at once, with its reason',
    async (scene) => {
      const dead = await scene.queueWithDeadLetters('q', 5)
      const [id] = await scene.send('q', 'poison')
      const { receipt, sentAt } = await scene.receiveOne('q')
      const result = await scene.settle('q', receipt, {
        kind: 'deadLetter',
        reason: 'cannot be read',
      })
      assert.equal(result.status, 'settled')
      assert.deepEqual(await scene.counts('q'), { ready: 0, leased: 0, delayed: 0 })
      const deadLettered = await scene.receiveOne(dead)
      assert.deepEqual(
        [deadLettered.id, deadLettered.body, deadLettered.sentAt],
        [id, 'poison', sentAt],
      )
      assert.equal(deadLettered.deadLetterOrigin?.source, 'q')
      assert.equal(deadLettered.deadLetterOrigin?.reason, 'cannot be read')
      const { totals } = await scene.statistics('q')
      assert.deepEqual([totals.deadLettered, totals.acknowledged], [1, 0])
    },
  )

  suite.test(
    'dead-lettering without a dead-letter queue is refused, and the lease continues',
    async (scene) => {
      const { receipt } = await leasedOne(scene)
      assertRefused(
        await scene.settle('q', receipt, { kind: 'deadLetter', reason: 'x' }),
        'dead_letter_missing',
      )
      assert.deepEqual(await scene.counts('q'), { ready: 0, leased: 1, delayed: 0 })
      assert.equal((await scene.acknowledge('q', receipt)).status, 'settled')
    },
  )

  suite.test('a stale receipt dead-letters nothing', async (scene) => {
    const dead = await scene.queueWithDeadLetters('q', 5, { visibilityMs: 10 * second })
    await scene.send('q', 'body')
    const old = await scene.receiveOne('q')
    await scene.advance(11 * second)
    await scene.receiveOne('q')
    const result = await scene.settle('q', old.receipt, { kind: 'deadLetter', reason: 'late' })
    assert.deepEqual(result, { status: 'stale' })
    assert.equal((await scene.counts(dead)).ready, 0)
    assert.equal((await scene.counts('q')).leased, 1)
  })

  suite.test('the receipt of a dead-lettered message is spent', async (scene) => {
    const dead = await scene.queueWithDeadLetters('q', 5)
    await scene.send('q', 'body')
    const { receipt } = await scene.receiveOne('q')
    await scene.settle('q', receipt, { kind: 'deadLetter', reason: 'once' })
    const again = await scene.settle('q', receipt, { kind: 'deadLetter', reason: 'twice' })
    assert.ok(again.status === 'gone' || again.status === 'stale')
    assert.deepEqual(await scene.counts(dead), { ready: 1, leased: 0, delayed: 0 })
  })
}

function describeEmits(suite: ContractSuite): void {
  const emit = (queue: string, body: string): EmittedMessage => ({ queue, message: { body } })

  suite.test('emitted messages are stored with the settlement', async (scene) => {
    const { receipt } = await leasedOne(scene)
    await scene.queue('next')
    await scene.queue('slow', { delayMs: minute })
    const result = await scene.settle('q', receipt, { kind: 'acknowledge' }, [
      emit('next', 'first'),
      emit('slow', 'later'),
      emit('next', 'second'),
    ])
    assert.ok(result.status === 'settled')
    const ids = result.emitted.map((entry) => created(entry).id)
    assert.equal(new Set(ids).size, 3)
    const received = await scene.receive('next')
    assert.deepEqual(
      received.map(({ id, body }) => [id, body]),
      [
        [ids[0], 'first'],
        [ids[2], 'second'],
      ],
    )
    assert.deepEqual(await scene.counts('slow'), { ready: 0, leased: 0, delayed: 1 })
  })

  suite.test('every outcome can emit, also into the same queue', async (scene) => {
    await scene.queueWithDeadLetters('q', 5)
    for (const outcome of [
      { kind: 'retry', delayMs: minute },
      { kind: 'release' },
      { kind: 'deadLetter', reason: 'x' },
    ] as const) {
      await scene.send('q', 'origin')
      const { receipt } = await scene.receiveOne('q')
      const result = await scene.settle('q', receipt, outcome, [emit('q', `by ${outcome.kind}`)])
      assert.equal(result.status, 'settled')
      const bodies = await scene.receiveBodies('q')
      assert.ok(bodies.includes(`by ${outcome.kind}`))
      await scene.backend.purgeQueue({ queue: 'q' })
    }
  })

  suite.test('one bad emit refuses the settlement, and nothing has changed', async (scene) => {
    const { receipt } = await leasedOne(scene)
    await scene.queue('next', { messageBytesMax: 1_024 })
    const bad: readonly [EmittedMessage, ...Parameters<typeof assertRefused>[1][]][] = [
      [emit('nowhere', 'x'), 'queue_not_found'],
      [emit('next', 'x'.repeat(1_025)), 'message_too_large'],
      [emit('next', 'a\u0000'), 'invalid_message'],
    ]
    for (const [bent, ...codes] of bad) {
      const result = await scene.settle('q', receipt, { kind: 'acknowledge' }, [
        emit('next', 'good'),
        bent,
      ])
      assertRefused(result, ...codes)
      assert.deepEqual(await scene.counts('next'), { ready: 0, leased: 0, delayed: 0 })
      assert.deepEqual(await scene.counts('q'), { ready: 0, leased: 1, delayed: 0 })
    }
    assert.equal((await scene.statistics('next')).totals.sent, 0)
    assert.equal((await scene.acknowledge('q', receipt)).status, 'settled')
  })

  suite.test('a refused settlement leaves those beside it alone', async (scene) => {
    await scene.queue('q')
    await scene.queue('next')
    await scene.send('q', 'one', 'two')
    const [one, two] = await scene.receive('q')
    assert.ok(one && two)
    const acknowledge = { kind: 'acknowledge' } as const
    const [first, last] = await scene.backend.settle({
      queue: 'q',
      settlements: [
        {
          receipt: one.receipt,
          outcome: acknowledge,
          emits: [emit('next', 'a'), emit('none', 'b')],
        },
        { receipt: two.receipt, outcome: acknowledge, emits: [emit('next', 'c')] },
      ],
    })
    assert.ok(first && last)
    assertRefused(first, 'queue_not_found')
    assert.equal(last.status, 'settled')
    assert.deepEqual(await scene.receiveBodies('next'), ['c'])
    assert.equal((await scene.counts('q')).leased, 1)
  })

  suite.test(
    'a settlement that is stale, gone or without a dead-letter queue emits nothing',
    async (scene) => {
      const old = await leasedOne(scene)
      await scene.queue('next')
      const emits = [emit('next', 'never')]
      assertRefused(
        await scene.settle('q', old.receipt, { kind: 'deadLetter', reason: 'x' }, emits),
        'dead_letter_missing',
      )
      await scene.advance(11 * second)
      const lapsed = await scene.settle('q', old.receipt, { kind: 'release' }, emits)
      assert.deepEqual(lapsed, { status: 'lapsed' })
      const current = await scene.receiveOne('q')
      const stale = await scene.settle('q', old.receipt, { kind: 'acknowledge' }, emits)
      assert.deepEqual(stale, { status: 'stale' })
      await scene.acknowledge('q', current.receipt)
      const gone = await scene.settle('q', current.receipt, { kind: 'acknowledge' }, emits)
      assert.deepEqual(gone, { status: 'gone' })
      assert.deepEqual(await scene.counts('next'), { ready: 0, leased: 0, delayed: 0 })
    },
  )

  suite.needing('fifo').test('a duplicate emit is answered as such and settles', async (scene) => {
    const { receipt } = await leasedOne(scene)
    await scene.fifoQueue('next.fifo')
    const message = grouped('g', 'x')
    const first = created(await scene.sendOne('next.fifo', message))
    const result = await scene.settle('q', receipt, { kind: 'acknowledge' }, [
      { queue: 'next.fifo', message },
    ])
    assert.ok(result.status === 'settled')
    assert.deepEqual(only(result.emitted), { status: 'duplicate', ...pick(first) })
    assert.equal((await scene.counts('next.fifo')).ready, 1)
  })
}

function pick({ id, sequence }: { readonly id: string; readonly sequence: number }) {
  return { id, sequence }
}
