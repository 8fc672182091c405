import assert from 'node:assert/strict'
import type { MoveTask } from '../../backends/backend.ts'
import { minute, only, rejects, type Scene, second } from './scene.ts'
import type { ContractSuite } from './suite.ts'

export function describeMoveTasks(suite: ContractSuite): void {
  suite.describe('move tasks', () => {
    describeMoves(suite)
    describeProgress(suite)
    describeSkips(suite)
    describeRefusals(suite)
  })
}

async function makeDeadLetters(
  scene: Scene,
  queue: string,
  ...bodies: readonly string[]
): Promise<string[]> {
  const ids = await scene.send(queue, ...bodies)
  for (const { receipt } of await scene.receive(queue, { max: bodies.length })) {
    await scene.settle(queue, receipt, { kind: 'deadLetter', reason: 'test' })
  }
  return ids
}

async function latest(scene: Scene, source: string): Promise<MoveTask> {
  return only(await scene.backend.listMoveTasks({ source, limit: 1 }))
}

/** Runs maintenance for this long, second by second. */
async function work(scene: Scene, seconds: number): Promise<void> {
  for (let passed = 0; passed < seconds; passed += 1) {
    await scene.sweep()
    await scene.advance(second)
  }
  await scene.sweep()
}

function describeMoves(suite: ContractSuite): void {
  suite.test('without a destination each message returns to its source queue', async (scene) => {
    await scene.queue('dead')
    for (const name of ['a', 'b']) {
      await scene.queue(name, { deadLetter: { queue: 'dead', maxReceives: 3 } })
    }
    await makeDeadLetters(scene, 'a', 'from a')
    await makeDeadLetters(scene, 'b', 'from b')
    const task = await scene.backend.startMoveTask({ source: 'dead' })
    assert.deepEqual(
      [task.source, task.destination, task.movesPerSecond, task.toMove],
      ['dead', null, null, 2],
    )
    await scene.sweep()
    assert.deepEqual(await scene.receiveBodies('a'), ['from a'])
    assert.deepEqual(await scene.receiveBodies('b'), ['from b'])
    assert.deepEqual(await scene.counts('dead'), { ready: 0, leased: 0, delayed: 0 })
    const ended = await latest(scene, 'dead')
    assert.deepEqual([ended.id, ended.status, ended.moved], [task.id, 'completed', 2])
  })

  suite.needing('ordered').test('with a destination all messages go there', async (scene) => {
    const dead = await scene.queueWithDeadLetters('q', 3)
    await scene.queue('elsewhere')
    await makeDeadLetters(scene, 'q', 'one', 'two')
    await scene.send(dead, 'sent straight here')
    await scene.backend.startMoveTask({ source: dead, destination: 'elsewhere' })
    await scene.sweep()
    const bodies = await scene.receiveBodies('elsewhere')
    assert.deepEqual(bodies, ['one', 'two', 'sent straight here'])
    assert.deepEqual(await scene.receiveBodies('q'), [])
  })

  suite.test('a moved message starts anew: new id, new time, no receives', async (scene) => {
    const dead = await scene.queueWithDeadLetters('q', 1)
    const [id] = await makeDeadLetters(scene, 'q', 'again')
    const before = only(await scene.receive(dead, { visibilityMs: 0 }))
    await scene.advance(minute)
    await scene.backend.startMoveTask({ source: dead })
    await scene.sweep()
    const moved = await scene.receiveOne('q', { visibilityMs: second })
    assert.notEqual(moved.id, id)
    assert.equal(moved.body, 'again')
    assert.equal(moved.receiveCount, 1)
    assert.ok(moved.sentAt >= before.sentAt + minute)
    assert.equal(moved.deadLetterOrigin, null)
    await scene.advance(2 * second)
    await scene.receive('q')
    assert.deepEqual(await scene.receiveBodies(dead), ['again'])
  })

  suite.test('messages in flight stay in the source', async (scene) => {
    const dead = await scene.queueWithDeadLetters('q', 3)
    await makeDeadLetters(scene, 'q', 'held', 'free')
    await scene.receiveOne(dead, { visibilityMs: 10 * minute })
    await scene.backend.startMoveTask({ source: dead })
    await scene.sweep()
    assert.deepEqual(await scene.receiveBodies('q'), ['free'])
    assert.deepEqual(await scene.counts(dead), { ready: 0, leased: 1, delayed: 0 })
  })

  suite.test('expired messages are neither moved nor counted as to be moved', async (scene) => {
    const dead = await scene.queueWithDeadLetters('q', 3)
    await scene.backend.changeQueue({ queue: dead, changes: { retentionMs: minute } })
    await makeDeadLetters(scene, 'q', 'old')
    await scene.advance(minute + second)
    await makeDeadLetters(scene, 'q', 'young')
    const { toMove } = await scene.backend.startMoveTask({ source: dead })
    assert.equal(toMove, 1)
    await scene.sweep()
    assert.deepEqual(await scene.receiveBodies('q'), ['young'])
  })

  suite.test('a waiting receive is woken by a moved message', async (scene) => {
    const dead = await scene.queueWithDeadLetters('q', 3)
    await makeDeadLetters(scene, 'q', 'again')
    const answer = scene.receive('q', { waitMs: 20 * second })
    await scene.advance(second)
    await scene.backend.startMoveTask({ source: dead })
    await scene.sweep()
    assert.deepEqual(
      (await answer).map(({ body }) => body),
      ['again'],
    )
  })

  suite.test('large messages are moved whole', async (scene) => {
    const dead = await scene.queueWithDeadLetters('q', 3)
    const body = 'large '.repeat(20_000)
    await makeDeadLetters(scene, 'q', body)
    await scene.backend.startMoveTask({ source: dead })
    await scene.sweep()
    assert.ok((await scene.receiveOne('q')).body === body)
  })

  suite.needing('fifo').test('the order of a group is kept', async (scene) => {
    const dead = await scene.queueWithDeadLetters('q.fifo', 1, { type: 'fifo' })
    await scene.sendToGroup('q.fifo', 'g', 'one', 'two', 'three')
    for (const { receipt } of await scene.receive('q.fifo')) {
      await scene.settle('q.fifo', receipt, { kind: 'deadLetter', reason: 'test' })
    }
    await scene.backend.startMoveTask({ source: dead })
    await scene.sweep()
    const moved = await scene.receive('q.fifo')
    assert.deepEqual(
      moved.map(({ body, group }) => [body, group]),
      [
        ['one', 'g'],
        ['two', 'g'],
        ['three', 'g'],
      ],
    )
  })
}

function describeProgress(suite: ContractSuite): void {
  const bodies = Array.from({ length: 10 }, (_, index) => `m${index}`)

  suite.test(
    'a task with a rate moves that many a second, and shows its progress',
    async (scene) => {
      const dead = await scene.queueWithDeadLetters('q', 3)
      await makeDeadLetters(scene, 'q', ...bodies)
      const task = await scene.backend.startMoveTask({ source: dead, movesPerSecond: 2 })
      assert.deepEqual([task.status, task.movesPerSecond, task.toMove], ['running', 2, 10])
      await work(scene, 2)
      const { moved, status } = await latest(scene, dead)
      assert.equal(status, 'running')
      assert.ok(moved >= 2 && moved <= 6, `moved ${moved} in 2 s at 2 a second`)
      const there = (await scene.counts('q')).ready
      assert.deepEqual([there, (await scene.counts(dead)).ready], [moved, 10 - moved])
      await work(scene, 6)
      assert.deepEqual((await latest(scene, dead)).status, 'completed')
      assert.deepEqual(await scene.receiveBodies('q'), bodies)
    },
  )

  suite.test('a task that was left for a while continues at its rate', async (scene) => {
    const dead = await scene.queueWithDeadLetters('q', 3)
    await makeDeadLetters(scene, 'q', ...bodies)
    await scene.backend.startMoveTask({ source: dead, movesPerSecond: 2 })
    await scene.sweep()
    await scene.advance(60 * second)
    await scene.sweep()
    const { moved, status } = await latest(scene, dead)
    assert.equal(status, 'running')
    assert.ok(moved >= 3 && moved <= 6, `moved ${moved} at 2 a second`)
    await work(scene, 4)
    assert.equal((await latest(scene, dead)).status, 'completed')
  })

  suite.test('a cancelled task stops where it is, and nothing is lost', async (scene) => {
    const dead = await scene.queueWithDeadLetters('q', 3)
    await makeDeadLetters(scene, 'q', ...bodies)
    const { id } = await scene.backend.startMoveTask({ source: dead, movesPerSecond: 2 })
    await work(scene, 1)
    const cancelling = await scene.backend.cancelMoveTask({ id })
    assert.ok(cancelling.status === 'cancelling' || cancelling.status === 'cancelled')
    await work(scene, 5)
    const { status, moved } = await latest(scene, dead)
    assert.equal(status, 'cancelled')
    assert.ok(moved < 10)
    assert.deepEqual(
      [(await scene.counts('q')).ready, (await scene.counts(dead)).ready],
      [moved, 10 - moved],
    )
    await rejects(scene.backend.cancelMoveTask({ id }), 'move_task_not_found')
    await scene.backend.startMoveTask({ source: dead })
    await scene.sweep()
    assert.deepEqual(await scene.receiveBodies('q'), bodies)
  })

  suite.test('a task that must find the way fails at a message that never died', async (scene) => {
    const dead = await scene.queueWithDeadLetters('q', 3)
    await makeDeadLetters(scene, 'q', 'died')
    await scene.send(dead, 'sent straight here', 'and this too')
    await scene.backend.startMoveTask({ source: dead })
    await scene.sweep()
    const { status, failure, moved } = await latest(scene, dead)
    assert.deepEqual([status, failure, moved], ['failed', 'origin_unknown', 1])
    assert.equal((await scene.counts(dead)).ready, 2)
    await scene.backend.startMoveTask({ source: dead, destination: 'q' })
    await scene.sweep()
    assert.equal((await latest(scene, dead)).status, 'completed')
  })

  suite.test('a task fails when its destination goes, and the rest stays', async (scene) => {
    const dead = await scene.queueWithDeadLetters('q', 3)
    await scene.queue('elsewhere')
    await makeDeadLetters(scene, 'q', ...bodies)
    await scene.backend.startMoveTask({ source: dead, destination: 'elsewhere', movesPerSecond: 1 })
    await scene.backend.deleteQueue({ queue: 'elsewhere' })
    await work(scene, 2)
    const { status, failure } = await latest(scene, dead)
    assert.deepEqual([status, failure], ['failed', 'queue_not_found'])
    const left = (await scene.counts(dead)).ready
    assert.ok(left >= 8)
  })

  suite.test('dead letters that arrive while a task runs are not lost', async (scene) => {
    const dead = await scene.queueWithDeadLetters('q', 3)
    await makeDeadLetters(scene, 'q', 'early')
    await scene.backend.startMoveTask({ source: dead, movesPerSecond: 1 })
    await makeDeadLetters(scene, 'q', 'late')
    await work(scene, 5)
    const [here, there] = [await scene.counts('q'), await scene.counts(dead)]
    assert.equal(here.ready + there.ready, 2)
  })

  suite.needing('reopen').test('a task continues after a restart', async (scene) => {
    const dead = await scene.queueWithDeadLetters('q', 3)
    await makeDeadLetters(scene, 'q', ...bodies)
    await scene.backend.startMoveTask({ source: dead, movesPerSecond: 2 })
    await work(scene, 1)
    await scene.reopen()
    await work(scene, 8)
    assert.equal((await latest(scene, dead)).status, 'completed')
    assert.deepEqual(await scene.receiveBodies('q'), bodies)
  })

  suite.test('tasks of a source are listed newest first', async (scene) => {
    const dead = await scene.queueWithDeadLetters('q', 3)
    const ids: string[] = []
    for (let round = 0; round < 3; round += 1) {
      ids.unshift((await scene.backend.startMoveTask({ source: dead })).id)
      await scene.sweep()
      await scene.advance(second)
    }
    const tasks = await scene.backend.listMoveTasks({ source: dead, limit: 2 })
    assert.deepEqual(
      tasks.map(({ id }) => id),
      ids.slice(0, 2),
    )
    await rejects(scene.backend.listMoveTasks({ source: 'nowhere', limit: 2 }), 'queue_not_found')
  })
}

function describeSkips(suite: ContractSuite): void {
  /** A dead-letter queue for messages of `gone`, which is deleted, and of `kept`. */
  async function withGoneSource(scene: Scene): Promise<void> {
    await scene.queue('dead')
    for (const name of ['gone', 'kept']) {
      await scene.queue(name, { deadLetter: { queue: 'dead', maxReceives: 3 } })
    }
  }

  suite.test(
    'messages without a queue to go back to are skipped, counted and stay; the others move',
    async (scene) => {
      await withGoneSource(scene)
      await makeDeadLetters(scene, 'gone', 'one', 'two')
      await makeDeadLetters(scene, 'kept', 'three')
      await scene.send('dead', 'sent straight here')
      await makeDeadLetters(scene, 'kept', 'four')
      await scene.backend.deleteQueue({ queue: 'gone' })
      const { skipped: none } = await scene.backend.startMoveTask({ source: 'dead' })
      assert.deepEqual(none, { queue_not_found: 0, origin_unknown: 0 })
      await scene.sweep()
      const { status, failure, moved, toMove, skipped } = await latest(scene, 'dead')
      assert.deepEqual([status, failure, moved, toMove], ['failed', 'queue_not_found', 2, 5])
      assert.deepEqual(skipped, { queue_not_found: 2, origin_unknown: 1 })
      assert.deepEqual(await scene.receiveBodies('kept'), ['three', 'four'])
      const left = await scene.receiveBodies('dead')
      assert.deepEqual(left, ['one', 'two', 'sent straight here'])
    },
  )

  suite.test('a skipped message costs nothing of the rate, and is counted once', async (scene) => {
    await withGoneSource(scene)
    const many = Array.from({ length: 10 }, (_, index) => `m${index}`)
    await makeDeadLetters(scene, 'gone', ...many)
    await makeDeadLetters(scene, 'kept', 'a', 'b', 'c')
    await scene.backend.deleteQueue({ queue: 'gone' })
    await scene.backend.startMoveTask({ source: 'dead', movesPerSecond: 1 })
    await scene.sweep()
    const first = await latest(scene, 'dead')
    assert.deepEqual([first.status, first.moved], ['running', 1])
    assert.equal(first.skipped.queue_not_found, 10)
    await work(scene, 3)
    const last = await latest(scene, 'dead')
    assert.deepEqual([last.status, last.moved], ['failed', 3])
    assert.equal(last.skipped.queue_not_found, 10)
  })

  suite.test(
    'a later task moves what was skipped, once the queue is there again',
    async (scene) => {
      await withGoneSource(scene)
      await makeDeadLetters(scene, 'gone', 'one')
      await makeDeadLetters(scene, 'kept', 'two')
      await scene.backend.deleteQueue({ queue: 'gone' })
      await scene.backend.startMoveTask({ source: 'dead' })
      await scene.sweep()
      await scene.advance(2 * minute)
      await scene.queue('gone')
      await scene.backend.startMoveTask({ source: 'dead' })
      await scene.sweep()
      const { status, moved, skipped } = await latest(scene, 'dead')
      assert.deepEqual([status, moved, skipped.queue_not_found], ['completed', 1, 0])
      assert.deepEqual(await scene.receiveBodies('gone'), ['one'])
    },
  )

  suite.test('many skipped messages at the head are passed once', async (scene) => {
    await withGoneSource(scene)
    for (let batch = 0; batch < 50; batch += 1) {
      await makeDeadLetters(
        scene,
        'gone',
        ...Array.from({ length: 10 }, (_, index) => `m${batch}.${index}`),
      )
    }
    await makeDeadLetters(scene, 'kept', 'last')
    await scene.backend.deleteQueue({ queue: 'gone' })
    await scene.backend.startMoveTask({ source: 'dead' })
    await scene.sweep()
    const { status, moved, skipped } = await latest(scene, 'dead')
    assert.deepEqual([status, moved, skipped.queue_not_found], ['failed', 1, 500])
    assert.deepEqual(await scene.receiveBodies('kept'), ['last'])
  })
}

function describeRefusals(suite: ContractSuite): void {
  suite.test('the source must be a dead-letter queue', async (scene) => {
    await scene.queue('plain')
    await rejects(scene.backend.startMoveTask({ source: 'plain' }), 'not_a_dead_letter_queue')
    await rejects(scene.backend.startMoveTask({ source: 'nowhere' }), 'queue_not_found')
  })

  suite.test('the destination must exist', async (scene) => {
    const dead = await scene.queueWithDeadLetters('q', 3)
    await rejects(
      scene.backend.startMoveTask({ source: dead, destination: 'nowhere' }),
      'queue_not_found',
    )
  })

  suite.test('a source has one task at a time', async (scene) => {
    const dead = await scene.queueWithDeadLetters('q', 3)
    await makeDeadLetters(scene, 'q', 'one', 'two', 'three')
    await scene.backend.startMoveTask({ source: dead, movesPerSecond: 1 })
    await rejects(scene.backend.startMoveTask({ source: dead }), 'move_task_running')
    await work(scene, 5)
    await scene.backend.startMoveTask({ source: dead })
  })

  suite.test(
    'an unknown task cannot be cancelled, a rate outside its limits not be asked for',
    async (scene) => {
      const dead = await scene.queueWithDeadLetters('q', 3)
      await rejects(scene.backend.cancelMoveTask({ id: 'unknown' }), 'move_task_not_found')
      for (const movesPerSecond of [0, 501, 1.5]) {
        await rejects(
          scene.backend.startMoveTask({ source: dead, movesPerSecond }),
          'invalid_argument',
        )
      }
    },
  )
}
