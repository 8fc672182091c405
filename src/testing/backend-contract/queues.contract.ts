import assert from 'node:assert/strict'
import { limits } from '../../core/limits.ts'
import { day, minute, rejects, second } from './scene.ts'
import type { ContractSuite } from './suite.ts'

export function describeQueues(suite: ContractSuite): void {
  suite.describe('queues', () => {
    describeLifeOfQueues(suite)
    describeListsOfQueues(suite)
    describeDeadLetterTargets(suite)
  })
}

function describeLifeOfQueues(suite: ContractSuite): void {
  suite.test('a queue without settings gets the documented defaults', async ({ backend }) => {
    const { queue, created } = await backend.createQueue({ queue: 'plain' })
    assert.equal(created, true)
    assert.equal(queue.name, 'plain')
    assert.deepEqual(queue.tags, {})
    assert.deepEqual(queue.settings, {
      type: 'standard',
      visibilityMs: 30 * second,
      delayMs: 0,
      retentionMs: 4 * day,
      receiveWaitMs: 0,
      messageBytesMax: limits.messageBytesMax.max,
      deadLetter: null,
      deadLetterSources: 'all',
      deduplicateByContent: false,
      deduplicationScope: 'queue',
      annotations: {},
      ceilings: {
        running: null,
        runningPerTenant: null,
        runningPerType: {},
        rate: null,
        perKey: [],
      },
      obeys: { queue: [], types: {} },
      history: { completedMs: 30 * day, failedMs: 90 * day },
      hidden: [],
      jobTypes: [],
    })
    assert.deepEqual(await backend.readQueue({ queue: 'plain' }), queue)
  })

  suite.test(
    'creating a queue again with the same settings answers the first one',
    async (scene) => {
      const first = await scene.queue('again', { visibilityMs: 5 * second })
      await scene.advance(second)
      for (const settings of [{ visibilityMs: 5 * second }, {}]) {
        const second = await scene.backend.createQueue({ queue: 'again', settings })
        assert.deepEqual(second, { queue: first, created: false })
      }
    },
  )

  suite.test('creating a queue again with another setting is refused', async (scene) => {
    await scene.queue('again', { visibilityMs: 5 * second })
    await rejects(scene.queue('again', { visibilityMs: 6 * second }), 'queue_exists')
    await rejects(scene.queue('again', { delayMs: second }), 'queue_exists')
    assert.equal((await scene.backend.readQueue({ queue: 'again' })).settings.delayMs, 0)
  })

  suite.test('the fields to mask are kept with the queue, and must be paths', async (scene) => {
    const hidden = ['card.number', 'to']
    await scene.queue('q', { hidden })
    assert.deepEqual((await scene.backend.readQueue({ queue: 'q' })).settings.hidden, hidden)
    await scene.backend.changeQueue({ queue: 'q', changes: { hidden: [] } })
    assert.deepEqual((await scene.backend.readQueue({ queue: 'q' })).settings.hidden, [])
    const notPaths = [7] as unknown as readonly string[]
    await rejects(
      scene.backend.changeQueue({ queue: 'q', changes: { hidden: notPaths } }),
      'invalid_argument',
    )
  })

  suite.test('the types of its jobs are kept with the queue, and must be texts', async (scene) => {
    const { backend } = scene
    await scene.queue('q', { jobTypes: ['OCR', 'SCAN'] })
    const typesOf = async () => (await backend.readQueue({ queue: 'q' })).settings.jobTypes
    assert.deepEqual(await typesOf(), ['OCR', 'SCAN'])
    await backend.changeQueue({ queue: 'q', changes: { jobTypes: [] } })
    assert.deepEqual(await typesOf(), [])
    const notTypes = [7] as unknown as readonly string[]
    await rejects(
      backend.changeQueue({ queue: 'q', changes: { jobTypes: notTypes } }),
      'invalid_argument',
    )
  })

  suite.test('after a change, the new settings are those that count', async (scene) => {
    const { backend } = scene
    const before = await scene.queue('changing', { visibilityMs: 5 * second })
    await scene.advance(second)
    const changed = await backend.changeQueue({
      queue: 'changing',
      changes: { visibilityMs: 7 * second, annotations: { policy: '{}' } },
    })
    assert.equal(changed.settings.visibilityMs, 7 * second)
    assert.deepEqual(changed.settings.annotations, { policy: '{}' })
    assert.equal(changed.settings.retentionMs, before.settings.retentionMs)
    assert.equal(changed.createdAt, before.createdAt)
    assert.ok(changed.changedAt > before.changedAt)
    assert.deepEqual(await backend.readQueue({ queue: 'changing' }), changed)
    await rejects(scene.queue('changing', { visibilityMs: 5 * second }), 'queue_exists')
    const again = await backend.createQueue({
      queue: 'changing',
      settings: { visibilityMs: 7 * second },
    })
    assert.equal(again.created, false)
  })

  suite.test('settings and names outside their limits are refused', async (scene) => {
    const refused = [
      { visibilityMs: limits.visibilityMs.max + 1 },
      { visibilityMs: -1 },
      { visibilityMs: 1.5 },
      { delayMs: limits.delayMs.max + 1 },
      { retentionMs: limits.retentionMs.min - 1 },
      { retentionMs: Number.NaN },
      { receiveWaitMs: limits.receiveWaitMs.max + 1 },
      { messageBytesMax: limits.messageBytesMax.min - 1 },
    ]
    for (const settings of refused) await rejects(scene.queue('bad', settings), 'invalid_argument')
    for (const name of ['', 'a'.repeat(81), 'with space', 'semi;colon', '../up', 'new\nline']) {
      await rejects(scene.queue(name), 'invalid_argument')
    }
    await rejects(scene.backend.readQueue({ queue: 'bad' }), 'queue_not_found')
    await scene.queue('good')
    await rejects(
      scene.backend.changeQueue({ queue: 'good', changes: { delayMs: -1 } }),
      'invalid_argument',
    )
  })

  suite.test('a deleted queue is gone with its messages', async (scene) => {
    await scene.queue('doomed')
    await scene.send('doomed', 'one', 'two')
    await scene.receiveOne('doomed')
    await scene.backend.deleteQueue({ queue: 'doomed' })
    await rejects(scene.backend.readQueue({ queue: 'doomed' }), 'queue_not_found')
    await rejects(scene.send('doomed', 'three'), 'queue_not_found')
    await rejects(scene.receive('doomed'), 'queue_not_found')
    await rejects(scene.statistics('doomed'), 'queue_not_found')
    await rejects(scene.backend.deleteQueue({ queue: 'doomed' }), 'queue_not_found')
    await scene.queue('doomed')
    assert.deepEqual(await scene.receiveBodies('doomed'), [])
    assert.deepEqual(await scene.counts('doomed'), { ready: 0, leased: 0, delayed: 0 })
  })

  suite.test('receipts of a deleted queue do nothing in its successor', async (scene) => {
    await scene.queue('phoenix')
    await scene.send('phoenix', 'old')
    const old = await scene.receiveOne('phoenix')
    await scene.backend.deleteQueue({ queue: 'phoenix' })
    await scene.queue('phoenix')
    await scene.send('phoenix', 'new')
    const fresh = await scene.receiveOne('phoenix')
    assert.notEqual((await scene.acknowledge('phoenix', old.receipt)).status, 'settled')
    assert.equal((await scene.extend('phoenix', fresh.receipt, minute)).status, 'extended')
  })

  suite.test('a name can be kept free for a while after its queue was deleted', async (scene) => {
    const { backend } = scene
    await scene.queue('cooling')
    await backend.deleteQueue({ queue: 'cooling' })
    const create = () => backend.createQueue({ queue: 'cooling', cooldownMs: minute })
    await rejects(create(), 'queue_deleted_recently')
    await scene.advance(59 * second)
    await rejects(create(), 'queue_deleted_recently')
    await scene.advance(2 * second)
    assert.equal((await create()).created, true)
    await backend.deleteQueue({ queue: 'cooling' })
    assert.equal((await backend.createQueue({ queue: 'cooling' })).created, true)
  })

  suite.needing('reopen').test('queues and their settings survive a restart', async (scene) => {
    const before = await scene.queue('kept', {
      visibilityMs: 9 * second,
      annotations: { throughput: 'high' },
    })
    await scene.reopen()
    assert.deepEqual(await scene.backend.readQueue({ queue: 'kept' }), before)
  })

  suite.test('tags are set, replaced and removed one by one', async ({ backend }) => {
    const given = { team: 'red', empty: '', ünïcode: '✓' }
    const { queue } = await backend.createQueue({ queue: 'tagged', tags: given })
    assert.deepEqual(queue.tags, given)
    const changed = await backend.tagQueue({
      queue: 'tagged',
      set: { team: 'blue', stage: 'dev' },
      remove: ['empty', 'unknown'],
    })
    assert.deepEqual(changed.tags, { team: 'blue', ünïcode: '✓', stage: 'dev' })
    assert.deepEqual((await backend.readQueue({ queue: 'tagged' })).tags, changed.tags)
    await rejects(backend.tagQueue({ queue: 'missing', set: {} }), 'queue_not_found')
  })

  suite.test('more tags than allowed, or too long ones, are refused whole', async ({ backend }) => {
    await backend.createQueue({ queue: 'tagged', tags: { first: '1' } })
    const many = Object.fromEntries(Array.from({ length: 50 }, (_, index) => [`t${index}`, 'x']))
    const refused = [many, { ['k'.repeat(129)]: 'x' }, { key: 'v'.repeat(257) }]
    for (const set of refused) {
      await rejects(backend.tagQueue({ queue: 'tagged', set }), 'invalid_argument')
    }
    assert.deepEqual((await backend.readQueue({ queue: 'tagged' })).tags, { first: '1' })
  })
}

function describeListsOfQueues(suite: ContractSuite): void {
  suite.test('queues are listed by name, filtered by prefix', async (scene) => {
    for (const name of ['b-2', 'a-1', 'b-1', 'B-3', 'b_4']) await scene.queue(name)
    const list = async (prefix?: string): Promise<string[]> => {
      const filter = prefix === undefined ? {} : { prefix }
      const page = await scene.backend.listQueues({ ...filter, limit: 100 })
      assert.equal(page.next, undefined)
      return page.items.map(({ name }) => name)
    }
    assert.deepEqual(await list(), ['B-3', 'a-1', 'b-1', 'b-2', 'b_4'])
    assert.deepEqual(await list('b-'), ['b-1', 'b-2'])
    assert.deepEqual(await list('b_'), ['b_4'])
    assert.deepEqual(await list('nothing'), [])
  })

  suite.test(
    'queues of a namespace are others than those of the same name outside',
    async (scene) => {
      const inside = 'eu-west-1:123456789012:'
      for (const name of ['orders', `${inside}orders`, `${inside}bills.fifo`, 'eu-2']) {
        await scene.queue(name)
      }
      const list = async (namespace?: string, prefix = ''): Promise<string[]> => {
        const filter = namespace === undefined ? {} : { namespace }
        const page = await scene.backend.listQueues({ ...filter, prefix, limit: 100 })
        return page.items.map(({ name }) => name)
      }
      assert.deepEqual(await list(''), ['eu-2', 'orders'])
      assert.deepEqual(await list('', 'eu'), ['eu-2'])
      assert.deepEqual(await list(inside), [`${inside}bills.fifo`, `${inside}orders`])
      assert.deepEqual(await list(inside, 'or'), [`${inside}orders`])
      assert.equal((await list()).length, 4)
      await scene.send(`${inside}orders`, 'body')
      assert.deepEqual(await scene.receiveBodies('orders'), [])
      assert.deepEqual(await scene.receiveBodies(`${inside}orders`), ['body'])
      for (const name of [
        'a:b:c:orders',
        'a:orders',
        ':orders',
        'EU:1:orders',
        'eu west:1:orders',
        'eu:1:',
      ]) {
        await rejects(scene.queue(name), 'invalid_argument')
      }
    },
  )

  suite.test('more than 1,000 queues are listed completely, in stable pages', async (scene) => {
    const names = Array.from({ length: 1_050 }, (_, index) => `q${String(index).padStart(4, '0')}`)
    await Promise.all(names.map((name) => scene.queue(name)))
    for (const limit of [1_000, 99]) {
      const seen: string[] = []
      let after: string | undefined
      do {
        const page = await scene.backend.listQueues(
          after === undefined ? { limit } : { limit, after },
        )
        assert.ok(page.items.length <= limit)
        seen.push(...page.items.map(({ name }) => name))
        after = page.next
        // A queue that comes or goes between two pages must not shift the rest.
        if (after !== undefined) await scene.backend.createQueue({ queue: '0-before-all' })
      } while (after !== undefined)
      assert.deepEqual(
        seen.filter((name) => name !== '0-before-all'),
        names,
      )
    }
    await rejects(scene.backend.listQueues({ limit: 1_001 }), 'invalid_argument')
    await rejects(scene.backend.listQueues({ limit: 0 }), 'invalid_argument')
  })
}

function describeDeadLetterTargets(suite: ContractSuite): void {
  const pointing = (queue: string) => ({ deadLetter: { queue, maxReceives: 3 } })

  suite.test('a dead-letter queue must exist', async (scene) => {
    await rejects(scene.queue('source', pointing('nowhere')), ...refusedTarget)
    await rejects(scene.backend.readQueue({ queue: 'source' }), 'queue_not_found')
    await scene.queue('source')
    await rejects(
      scene.backend.changeQueue({ queue: 'source', changes: pointing('nowhere') }),
      ...refusedTarget,
    )
    assert.equal((await scene.backend.readQueue({ queue: 'source' })).settings.deadLetter, null)
  })

  suite.needing('fifo').test('a dead-letter queue must be of the same type', async (scene) => {
    await scene.fifoQueue('dead.fifo')
    await scene.queue('dead')
    await rejects(scene.queue('source', pointing('dead.fifo')), 'invalid_argument')
    await rejects(scene.fifoQueue('source.fifo', pointing('dead')), 'invalid_argument')
  })

  suite.test('a dead-letter queue may choose its sources', async (scene) => {
    await scene.queue('closed', { deadLetterSources: 'none' })
    await scene.queue('choosy', { deadLetterSources: ['friend'] })
    await rejects(scene.queue('stranger', pointing('closed')), 'invalid_argument')
    await rejects(scene.queue('stranger', pointing('choosy')), 'invalid_argument')
    assert.equal((await scene.queue('friend', pointing('choosy'))).name, 'friend')
  })

  suite.test('maxReceives outside its limits is refused', async (scene) => {
    await scene.queue('dead')
    for (const maxReceives of [0, 1_001, 1.5]) {
      await rejects(
        scene.queue('source', { deadLetter: { queue: 'dead', maxReceives } }),
        'invalid_argument',
      )
    }
  })

  suite.test('dead-letter queues in a circle are refused', async (scene) => {
    const { backend } = scene
    await scene.queue('a')
    const changeTo = (queue: string, target: string) =>
      backend.changeQueue({ queue, changes: pointing(target) })
    await scene.queue('b', pointing('a'))
    await rejects(changeTo('a', 'b'), 'invalid_argument')
    await scene.queue('c', pointing('b'))
    await rejects(changeTo('a', 'c'), 'invalid_argument')
    assert.equal((await backend.readQueue({ queue: 'a' })).settings.deadLetter, null)
  })

  suite.test('the sources of a dead-letter queue are listed in pages', async (scene) => {
    await scene.queue('dead')
    await scene.queue('elsewhere')
    for (const name of ['s3', 's1', 's2']) await scene.queue(name, pointing('dead'))
    await scene.queue('other', pointing('elsewhere'))
    const first = await scene.backend.listDeadLetterSources({ queue: 'dead', limit: 2 })
    assert.deepEqual(
      first.items.map(({ name }) => name),
      ['s1', 's2'],
    )
    assert.ok(first.next !== undefined)
    const last = await scene.backend.listDeadLetterSources({
      queue: 'dead',
      limit: 2,
      after: first.next,
    })
    assert.deepEqual(
      last.items.map(({ name }) => name),
      ['s3'],
    )
    assert.equal(last.next, undefined)
    await rejects(
      scene.backend.listDeadLetterSources({ queue: 'nowhere', limit: 2 }),
      'queue_not_found',
    )
  })

  suite.test('a queue can drop its dead-letter queue', async (scene) => {
    const dead = await scene.queueWithDeadLetters('source', 2)
    await scene.backend.changeQueue({ queue: 'source', changes: { deadLetter: null } })
    const page = await scene.backend.listDeadLetterSources({ queue: dead, limit: 10 })
    assert.deepEqual(page.items, [])
  })
}

const refusedTarget = ['queue_not_found', 'invalid_argument'] as const
