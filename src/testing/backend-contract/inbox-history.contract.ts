import assert from 'node:assert/strict'
import { claim, createInbox, eventsOf, historyOf, inboxesOf, listedItems } from './inbox-scene.ts'
import { day, hour, minute, only, rejects, type Scene, second } from './scene.ts'
import type { ContractSuite } from './suite.ts'

export function describeInboxHistory(all: ContractSuite): void {
  const suite = all.needing('inboxes')
  suite.describe('what people did with messages', () => {
    describeHistory(suite)
    describeKeeping(suite)
    describeRefusals(suite)
  })
}

function describeHistory(suite: ContractSuite): void {
  suite.test(
    'is recorded from the first claim to the decision, with times and notes',
    async (scene) => {
      const [id = ''] = await createInbox(scene, 'first')
      const inboxes = inboxesOf(scene)
      const { claim: held } = await claim(scene, 'anna')
      assert.ok(held !== null)
      const entry = { queue: 'inbox', id, by: 'anna' }
      await scene.advance(minute)
      await inboxes.note({ ...entry, note: 'asks for a refund' })
      await scene.advance(minute)
      await inboxes.release({ ...entry, note: 'not my field' })
      await claim(scene, 'ben')
      await scene.advance(minute)
      await inboxes.resolve({ ...entry, by: 'ben', note: 'refunded' })
      const { at } = held
      assert.deepEqual(await historyOf(scene, id), [
        { event: 'claimed', at, by: 'anna', note: null },
        { event: 'noted', at: at + minute, by: 'anna', note: 'asks for a refund' },
        { event: 'released', at: at + 2 * minute, by: 'anna', note: 'not my field' },
        { event: 'claimed', at: at + 2 * minute, by: 'ben', note: null },
        { event: 'resolved', at: at + 3 * minute, by: 'ben', note: 'refunded' },
      ])
    },
  )

  suite.test('has renewals in a row as one entry, with the time of the last', async (scene) => {
    const [id = ''] = await createInbox(scene, 'first')
    const inboxes = inboxesOf(scene)
    const { claim: held } = await claim(scene, 'anna')
    assert.ok(held !== null)
    for (let minutes = 0; minutes < 5; minutes += 1) {
      await scene.advance(minute)
      await inboxes.renew({ queue: 'inbox', id, by: 'anna' })
    }
    await inboxes.note({ queue: 'inbox', id, by: 'ben', note: 'still?' })
    await scene.advance(minute)
    await inboxes.renew({ queue: 'inbox', id, by: 'anna' })
    assert.deepEqual(
      (await historyOf(scene, id)).map(({ event, by, at }) => [event, by, at - held.at]),
      [
        ['claimed', 'anna', 0],
        ['renewed', 'anna', 5 * minute],
        ['noted', 'ben', 5 * minute],
        ['renewed', 'anna', 6 * minute],
      ],
    )
  })

  suite.test('says when a claim ran out, though it is looked at later', async (scene) => {
    const [id = ''] = await createInbox(scene, 'first')
    const { claim: held } = await claim(scene, 'anna', { leaseMs: minute })
    await scene.advance(10 * minute)
    const lapsed = (await historyOf(scene, id)).at(-1)
    assert.deepEqual(lapsed, { event: 'lapsed', at: held?.until, by: 'anna', note: null })
  })

  suite.test('is recorded by the sweep when it is not read', async (scene) => {
    const [id = ''] = await createInbox(scene, 'first')
    await claim(scene, 'anna', { leaseMs: minute })
    await scene.advance(minute)
    await scene.sweep()
    await scene.advance(day)
    assert.equal((await historyOf(scene, id)).length, 2)
  })

  suite.test('has the lapse before what a receiver did with the message', async (scene) => {
    const [id = ''] = await createInbox(scene, 'first')
    await claim(scene, 'anna', { leaseMs: minute })
    await scene.advance(minute)
    const { receipt } = await scene.receiveOne('inbox')
    await scene.acknowledge('inbox', receipt)
    assert.deepEqual(await eventsOf(scene, id), [
      ['claimed', 'anna'],
      ['lapsed', 'anna'],
    ])
  })

  for (const [what, leave] of [
    ['a purge', (scene: Scene) => scene.backend.purgeQueue({ queue: 'inbox' })],
    ['the end of its retention', (scene: Scene) => scene.advance(90 * second)],
  ] as const) {
    suite.test(`records that ${what} took a claimed message`, async (scene) => {
      await scene.queue('inbox', { visibilityMs: hour, retentionMs: minute })
      const [id = ''] = await scene.send('inbox', 'first')
      await claim(scene, 'anna')
      await leave(scene)
      assert.deepEqual(await listedItems(scene), [])
      const counts = await inboxesOf(scene).counts({ queue: 'inbox', by: 'anna' })
      assert.deepEqual(counts, { waiting: 0, claimed: 0, mine: 0, leased: 0 })
      assert.deepEqual(await eventsOf(scene, id), [
        ['claimed', 'anna'],
        ['gone', 'anna'],
      ])
    })

    suite.test(`gets ${what} from the sweep when it is not read`, async (scene) => {
      await scene.queue('inbox', { visibilityMs: hour, retentionMs: minute })
      const [id = ''] = await scene.send('inbox', 'first')
      await claim(scene, 'anna')
      await leave(scene)
      await scene.advance(hour)
      await scene.sweep()
      const [, gone] = await historyOf(scene, id)
      await scene.advance(hour)
      assert.deepEqual((await historyOf(scene, id))[1], gone)
      assert.equal(gone?.event, 'gone')
    })
  }
}

function describeKeeping(suite: ContractSuite): void {
  suite.needing('reopen').test('claims and notes outlive the process', async (scene) => {
    const [id = ''] = await createInbox(scene, 'first', 'second')
    const { claim: held } = await claim(scene, 'anna')
    await inboxesOf(scene).note({ queue: 'inbox', id, by: 'ben', note: 'urgent' })
    await scene.reopen()
    const record = await inboxesOf(scene).read({ queue: 'inbox', id })
    assert.deepEqual([record?.claim, record?.notes], [held, 1])
    const resolved = await inboxesOf(scene).resolve({ queue: 'inbox', id, by: 'anna' })
    assert.equal(resolved.status, 'done')
  })

  suite.test('a decision is kept for 90 days, and forgotten after that', async (scene) => {
    const [id = ''] = await createInbox(scene, 'first')
    await claim(scene, 'anna')
    await inboxesOf(scene).resolve({ queue: 'inbox', id, by: 'anna', note: 'done' })
    await scene.advance(90 * day - 1)
    await scene.sweep()
    assert.equal((await historyOf(scene, id)).at(-1)?.note, 'done')
    await scene.advance(1)
    await scene.sweep()
    assert.deepEqual(await historyOf(scene, id), [])
    assert.deepEqual(await inboxesOf(scene).used(), [])
  })

  suite.test('more than a slice of it is forgotten by the sweeps that follow', async (scene) => {
    const [id = ''] = await createInbox(scene, 'first')
    const note = { queue: 'inbox', id, by: 'ben', note: 'again' }
    await Promise.all(Array.from({ length: 1_000 }, () => inboxesOf(scene).note(note)))
    await rejects(inboxesOf(scene).note(note), 'invalid_argument')
    await scene.advance(90 * day)
    const { more } = await scene.backend.sweep()
    assert.equal(more, true)
    await scene.sweep()
    assert.deepEqual(await historyOf(scene, id), [])
  })

  suite.test(
    'of claims without end the latest 1,000 entries are kept, and all notes',
    async (scene) => {
      const [id = ''] = await createInbox(scene, 'first')
      const inboxes = inboxesOf(scene)
      await inboxes.note({ queue: 'inbox', id, by: 'ben', note: 'from the first day' })
      const calls: Promise<unknown>[] = []
      for (let times = 0; times < 505; times += 1) {
        const by = `person ${times}`
        calls.push(inboxes.claim({ queue: 'inbox', by }))
        calls.push(inboxes.release({ queue: 'inbox', id, by }))
      }
      await Promise.all(calls)
      const [note, oldest, ...others] = await eventsOf(scene, id)
      assert.deepEqual(note, ['noted', 'ben'])
      assert.deepEqual(oldest, ['claimed', 'person 5'])
      assert.equal(others.length, 999)
      assert.deepEqual(others.at(-1), ['released', 'person 504'])
    },
  )

  suite.test('inboxes are the queues in which people have done something', async (scene) => {
    const [id = ''] = await createInbox(scene, 'first')
    await scene.queue('quiet')
    await scene.queue('another')
    const [other = ''] = await scene.send('another', 'second')
    const inboxes = inboxesOf(scene)
    assert.deepEqual(await inboxes.used(), [])
    const { claim: held } = await claim(scene, 'anna')
    assert.ok(held !== null)
    await scene.advance(minute)
    await inboxes.note({ queue: 'another', id: other, by: 'ben', note: 'look at this' })
    assert.deepEqual(await inboxes.used(), [
      { queue: 'another', lastAt: held.at + minute },
      { queue: 'inbox', lastAt: held.at },
    ])
    await inboxes.resolve({ queue: 'inbox', id, by: 'anna' })
    await scene.backend.deleteQueue({ queue: 'another' })
    const left = only(await inboxes.used())
    assert.deepEqual(left, { queue: 'inbox', lastAt: held.at + minute })
  })
}

function describeRefusals(suite: ContractSuite): void {
  suite.test('what cannot be is refused', async (scene) => {
    const [id = ''] = await createInbox(scene, 'first')
    const inboxes = inboxesOf(scene)
    const good = { queue: 'inbox', id, by: 'anna' }
    await claim(scene, 'anna')
    for (const wrong of [
      { by: '' },
      { by: 'a\0b' },
      { by: 'n'.repeat(257) },
      { id: '' },
      { id: 'x'.repeat(129) },
      { token: 1.5 },
      { note: 'n'.repeat(4_097) },
      { note: '\ud800' },
    ]) {
      await rejects(inboxes.resolve({ ...good, ...wrong }), 'invalid_argument')
      await rejects(inboxes.release({ ...good, ...wrong }), 'invalid_argument')
    }
    for (const leaseMs of [0, 999, 12 * hour + 1, 1.5]) {
      await rejects(inboxes.renew({ ...good, leaseMs }), 'invalid_argument')
      await rejects(inboxes.claim({ queue: 'inbox', by: 'ben', leaseMs }), 'invalid_argument')
    }
    await rejects(inboxes.note({ ...good, note: '' }), 'invalid_argument')
    await rejects(inboxes.list({ queue: 'inbox', limit: 0 }), 'invalid_argument')
    await rejects(inboxes.list({ queue: 'inbox', limit: 1, after: 'x' }), 'invalid_argument')
    await rejects(inboxes.counts({ queue: 'inbox', by: '' }), 'invalid_argument')
    assert.deepEqual(await listedItems(scene), [['first', 'anna']])
  })

  suite.test('a queue that does not exist has no inbox', async (scene) => {
    const inboxes = inboxesOf(scene)
    const missing = { queue: 'missing', id: 'x', by: 'anna' }
    await rejects(inboxes.claim({ queue: 'missing', by: 'anna' }), 'queue_not_found')
    await rejects(inboxes.list({ queue: 'missing', limit: 1 }), 'queue_not_found')
    await rejects(inboxes.resolve(missing), 'queue_not_found')
    await rejects(inboxes.history(missing), 'queue_not_found')
  })
}
