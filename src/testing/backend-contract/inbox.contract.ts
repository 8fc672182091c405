import assert from 'node:assert/strict'
import { createFlowQueues, endMessages, openFlow, unitStates, unitsOf } from './flow-scene.ts'
import { lift, turnOn } from './gate-scene.ts'
import { claim, createInbox, eventsOf, inboxesOf, listedItems } from './inbox-scene.ts'
import { jobsOf, ocrJob, readJob } from './job-scene.ts'
import { hour, minute, only, rejects, second } from './scene.ts'
import type { ContractSuite } from './suite.ts'

export function describeInboxes(all: ContractSuite): void {
  const suite = all.needing('inboxes')
  suite.describe('handoff', () => {
    describeClaims(suite)
    describeChosenMessages(suite)
    describeEnds(suite)
  })
}

function describeClaims(suite: ContractSuite): void {
  suite.test('a claim is a lease with a name on it', async (scene) => {
    const [id = ''] = await createInbox(scene, 'first')
    const record = await claim(scene, 'anna')
    const { message, state, notes } = record
    assert.deepEqual(
      [message.id, message.body, message.state, message.receiveCount, state, notes],
      [id, 'first', 'leased', 1, 'claimed', 0],
    )
    assert.ok(record.claim !== null)
    const { by, at, until, token } = record.claim
    assert.equal(by, 'anna')
    assert.equal(until - at, hour)
    assert.ok(token > 0)
    assert.deepEqual(await scene.counts('inbox'), { ready: 0, leased: 1, delayed: 0 })
    assert.deepEqual(await inboxesOf(scene).read({ queue: 'inbox', id }), record)
    assert.deepEqual(await scene.receive('inbox'), [])
  })

  suite.test('two people who claim the oldest get two different messages', async (scene) => {
    await createInbox(scene, 'first', 'second')
    const [one, other] = await Promise.all([claim(scene, 'anna'), claim(scene, 'ben')])
    assert.deepEqual([one.message.body, other.message.body], ['first', 'second'])
    const nothing = await inboxesOf(scene).claim({ queue: 'inbox', by: 'cleo' })
    assert.deepEqual(nothing, { status: 'none' })
  })

  suite.test('a claim lasts as long as was asked for', async (scene) => {
    const [id = ''] = await createInbox(scene, 'first')
    await claim(scene, 'anna', { leaseMs: minute })
    await scene.advance(minute - 1)
    assert.deepEqual(await listedItems(scene), [['first', 'anna']])
    await scene.advance(1)
    assert.deepEqual(await listedItems(scene), [['first', null]])
    const again = await claim(scene, 'ben')
    assert.deepEqual([again.message.id, again.message.receiveCount], [id, 2])
  })

  suite.test('a claim in a queue that hides nothing does not end at once', async (scene) => {
    await scene.queue('inbox', { visibilityMs: 0 })
    await scene.send('inbox', 'first')
    await claim(scene, 'anna')
    assert.deepEqual(await listedItems(scene), [['first', 'anna']])
  })

  suite.test('a receiver takes from the same queue, and has no name', async (scene) => {
    await createInbox(scene, 'first', 'second', 'third')
    await scene.receiveOne('inbox')
    await claim(scene, 'anna')
    assert.deepEqual(await listedItems(scene), [
      ['first', 'leased'],
      ['second', 'anna'],
      ['third', null],
    ])
    const counts = await inboxesOf(scene).counts({ queue: 'inbox', by: 'anna' })
    assert.deepEqual(counts, { waiting: 1, claimed: 1, mine: 1, leased: 1 })
  })

  suite.test('lists tell what waits, what is claimed, and by whom, oldest first', async (scene) => {
    const ids = await createInbox(scene, 'a', 'b', 'c', 'd', 'e')
    await scene.send('inbox', { body: 'later', delayMs: minute })
    await claim(scene, 'ben', { id: ids[3] ?? '' })
    await claim(scene, 'anna', { id: ids[1] ?? '' })
    await claim(scene, 'ben', { id: ids[0] ?? '' })
    assert.deepEqual(await listedItems(scene), [
      ['a', 'ben'],
      ['b', 'anna'],
      ['c', null],
      ['d', 'ben'],
      ['e', null],
    ])
    assert.deepEqual(await listedItems(scene, { state: 'waiting' }), [
      ['c', null],
      ['e', null],
    ])
    assert.deepEqual(await listedItems(scene, { state: 'claimed' }), [
      ['a', 'ben'],
      ['b', 'anna'],
      ['d', 'ben'],
    ])
    assert.deepEqual(await listedItems(scene, { by: 'ben' }), [
      ['a', 'ben'],
      ['d', 'ben'],
    ])
    assert.deepEqual(await listedItems(scene, { by: 'ben', state: 'waiting' }), [])
    assert.deepEqual(await listedItems(scene, { by: 'cleo' }), [])
    const withoutName = await inboxesOf(scene).counts({ queue: 'inbox' })
    assert.deepEqual(withoutName, { waiting: 2, claimed: 3, mine: 0, leased: 0 })
  })

  suite.test('lists are read page by page, whatever the state', async (scene) => {
    await createInbox(scene, ...Array.from({ length: 9 }, (_, at) => `m${at}`))
    for (let claims = 0; claims < 4; claims += 1) await claim(scene, 'anna')
    for (const [tab, expected] of [
      [{}, 9],
      [{ by: 'anna' }, 4],
      [{ state: 'claimed' }, 4],
      [{ state: 'waiting' }, 5],
    ] as const) {
      const bodies: string[] = []
      let after: { readonly after?: string } = {}
      for (;;) {
        const request = { queue: 'inbox', limit: 2, ...tab, ...after }
        const { items, next } = await inboxesOf(scene).list(request)
        bodies.push(...items.map(({ message }) => message.body))
        if (next === undefined) break
        after = { after: next }
      }
      assert.deepEqual([bodies.length, new Set(bodies).size], [expected, expected])
      assert.deepEqual(bodies, bodies.toSorted())
    }
  })
}

function describeChosenMessages(suite: ContractSuite): void {
  suite.test('a message is claimed by its id, before older ones', async (scene) => {
    const [, second_ = ''] = await createInbox(scene, 'first', 'second')
    const { message } = await claim(scene, 'anna', { id: second_ })
    assert.equal(message.body, 'second')
    assert.deepEqual(await scene.receiveBodies('inbox'), ['first'])
  })

  suite.test('the claim of a claimed message returns who has it', async (scene) => {
    const [id = ''] = await createInbox(scene, 'first')
    const { claim: held } = await claim(scene, 'anna')
    const result = await inboxesOf(scene).claim({ queue: 'inbox', id, by: 'ben' })
    assert.deepEqual(result, { status: 'taken', holder: 'anna', until: held?.until })
  })

  suite.test('a message that a receiver has is held without a name', async (scene) => {
    const [id = ''] = await createInbox(scene, 'first')
    const { leaseExpiresAt: until } = await scene.receiveOne('inbox')
    const result = await inboxesOf(scene).claim({ queue: 'inbox', id, by: 'ben' })
    assert.deepEqual(result, { status: 'taken', holder: null, until })
  })

  suite.test('to claim what one has already changes nothing', async (scene) => {
    const [id = ''] = await createInbox(scene, 'first')
    const first = await claim(scene, 'anna')
    await scene.advance(minute)
    assert.deepEqual(await claim(scene, 'anna', { id, leaseMs: 2 * hour }), first)
    assert.deepEqual(await eventsOf(scene, id), [['claimed', 'anna']])
  })

  suite.test('a delayed message can be looked at, but not claimed', async (scene) => {
    await createInbox(scene)
    const [id = ''] = await scene.send('inbox', { body: 'later', delayMs: minute })
    const inboxes = inboxesOf(scene)
    const claiming = { queue: 'inbox', id, by: 'anna' }
    assert.deepEqual(await inboxes.claim(claiming), { status: 'not_ready', because: 'delayed' })
    assert.equal((await inboxes.read({ queue: 'inbox', id }))?.state, 'delayed')
    await scene.advance(minute)
    assert.equal((await inboxes.claim(claiming)).status, 'claimed')
  })

  suite.test('a message that is not in the queue is gone', async (scene) => {
    const [id = ''] = await createInbox(scene, 'first')
    await scene.queue('other')
    const [foreign = ''] = await scene.send('other', 'foreign')
    const inboxes = inboxesOf(scene)
    await claim(scene, 'anna')
    await inboxes.resolve({ queue: 'inbox', id, by: 'anna' })
    for (const missing of [id, foreign, 'nonsense']) {
      const claiming = { queue: 'inbox', id: missing, by: 'anna' }
      assert.deepEqual(await inboxes.claim(claiming), { status: 'gone' })
      assert.equal(await inboxes.read({ queue: 'inbox', id: missing }), undefined)
    }
    assert.deepEqual(await scene.peekBodies('other', 'ready'), ['foreign'])
  })

  suite
    .needing('killSwitches')
    .test('a kill switch holds claims as it holds receives', async (scene) => {
      const [id = ''] = await createInbox(scene, 'first')
      const inboxes = inboxesOf(scene)
      const held = { status: 'not_ready', because: 'held' }
      await turnOn(scene, 'queue', 'inbox')
      assert.deepEqual(await inboxes.claim({ queue: 'inbox', by: 'anna' }), { status: 'none' })
      assert.deepEqual(await inboxes.claim({ queue: 'inbox', by: 'anna', id }), held)
      await lift(scene, 'queue', 'inbox')
      assert.equal((await claim(scene, 'anna', { id })).message.receiveCount, 1)
    })

  suite
    .needing('killSwitches')
    .test('a blocked message is claimed by its id once it may be', async (scene) => {
      await createInbox(scene)
      const [id = ''] = await scene.send('inbox', { body: 'x1', group: 'x' })
      await turnOn(scene, 'tenant', 'x')
      assert.deepEqual(await scene.receive('inbox'), [])
      assert.deepEqual(await listedItems(scene), [['x1', null]])
      const claiming = { queue: 'inbox', by: 'anna', id }
      const held = { status: 'not_ready', because: 'held' }
      assert.deepEqual(await inboxesOf(scene).claim(claiming), held)
      await lift(scene, 'tenant', 'x')
      assert.equal((await claim(scene, 'anna', { id })).message.body, 'x1')
    })

  suite.test('a message that has used up its receives is not given to a person', async (scene) => {
    const dead = await scene.queueWithDeadLetters('inbox', 1, { visibilityMs: minute })
    const [id = ''] = await scene.send('inbox', 'first')
    await claim(scene, 'anna')
    await scene.advance(minute)
    const result = await inboxesOf(scene).claim({ queue: 'inbox', by: 'anna', id })
    assert.deepEqual(result, { status: 'gone' })
    assert.deepEqual(await scene.peekBodies(dead, 'ready'), ['first'])
    assert.deepEqual(await eventsOf(scene, id), [
      ['claimed', 'anna'],
      ['lapsed', 'anna'],
    ])
  })
}

function describeEnds(suite: ContractSuite): void {
  suite.test('resolving acknowledges the message', async (scene) => {
    const [id = ''] = await createInbox(scene, 'first')
    await claim(scene, 'anna')
    const request = { queue: 'inbox', id, by: 'anna', note: 'called them' }
    const result = await inboxesOf(scene).resolve(request)
    assert.deepEqual(result, { status: 'done', item: null })
    const { totals, ready, leased } = await scene.statistics('inbox')
    assert.deepEqual([totals.acknowledged, ready, leased], [1, 0, 0])
    assert.deepEqual(await inboxesOf(scene).resolve(request), { status: 'gone' })
    assert.deepEqual(await eventsOf(scene, id), [
      ['claimed', 'anna'],
      ['resolved', 'anna'],
    ])
  })

  suite.test('what is sent with a decision exists with it, or not at all', async (scene) => {
    const [id = ''] = await createInbox(scene, 'first')
    await scene.queue('answers')
    await claim(scene, 'anna')
    const answering = (queue: string) =>
      inboxesOf(scene).resolve({
        queue: 'inbox',
        id,
        by: 'anna',
        emits: [{ queue, message: { body: 'yes' } }],
      })
    await rejects(answering('missing'), 'queue_not_found')
    assert.deepEqual(await listedItems(scene), [['first', 'anna']])
    assert.deepEqual(await eventsOf(scene, id), [['claimed', 'anna']])
    assert.equal((await answering('answers')).status, 'done')
    assert.deepEqual(await scene.receiveBodies('answers'), ['yes'])
    assert.deepEqual(await answering('answers'), { status: 'gone' })
    assert.deepEqual(await scene.receiveBodies('answers'), [])
  })

  suite.needing('trackedJobs').test('a job that a person resolves is completed', async (scene) => {
    await createInbox(scene)
    const { id } = only(await jobsOf(scene).enqueue({ queue: 'inbox', jobs: [ocrJob] }))
    await claim(scene, 'anna')
    assert.equal((await readJob(scene, id)).status, 'processing')
    await inboxesOf(scene).resolve({ queue: 'inbox', id, by: 'anna' })
    assert.equal((await readJob(scene, id)).status, 'completed')
  })

  suite
    .needing('flows')
    .test('resolving marks the unit of a flow, as any acknowledgement does', async (scene) => {
      await createFlowQueues(scene)
      await openFlow(scene, unitsOf('page'))
      const { message } = await claim(scene, 'anna', { queue: 'work' })
      assert.deepEqual([message.body, await endMessages(scene)], ['page', []])
      await inboxesOf(scene).resolve({ queue: 'work', id: message.id, by: 'anna' })
      assert.deepEqual(await unitStates(scene), { page: 'done' })
      assert.deepEqual(await endMessages(scene), ['book is done'])
    })

  suite.test('a released message waits in its old place, and was never received', async (scene) => {
    const [id = ''] = await createInbox(scene, 'first', 'second')
    await claim(scene, 'anna')
    const result = await inboxesOf(scene).release({
      queue: 'inbox',
      id,
      by: 'anna',
      note: 'speaks Greek',
    })
    assert.ok(result.status === 'done')
    assert.deepEqual([result.item?.state, result.item?.claim], ['waiting', null])
    const { body, receiveCount } = only(await scene.receive('inbox', { max: 1 }))
    assert.deepEqual([body, receiveCount], ['first', 1])
  })

  suite.test('renewing moves the end of a claim, within what a lease may last', async (scene) => {
    const [id = ''] = await createInbox(scene, 'first')
    const inboxes = inboxesOf(scene)
    const { claim: held } = await claim(scene, 'anna')
    await scene.advance(50 * minute)
    const renewed = await inboxes.renew({ queue: 'inbox', id, by: 'anna' })
    assert.ok(renewed.status === 'done' && held !== null)
    assert.deepEqual(renewed.item?.claim, { ...held, until: held.at + 50 * minute + hour })
    await scene.advance(50 * minute)
    const longest = { queue: 'inbox', id, by: 'anna', leaseMs: 12 * hour }
    await rejects(inboxes.renew(longest), 'invalid_argument')
    const shorter = await inboxes.renew({ ...longest, leaseMs: second })
    assert.equal(shorter.status, 'done')
    await scene.advance(second)
    assert.deepEqual(await listedItems(scene), [['first', null]])
  })

  suite.test('any person may add a note, with or without a claim', async (scene) => {
    const [id = ''] = await createInbox(scene, 'first')
    const inboxes = inboxesOf(scene)
    const note = async (by: string): Promise<number | undefined> => {
      const result = await inboxes.note({ queue: 'inbox', id, by, note: `says ${by}` })
      return result.status === 'done' ? result.item?.notes : undefined
    }
    assert.equal(await note('ben'), 1)
    await claim(scene, 'anna')
    assert.equal(await note('anna'), 2)
    assert.equal(await note('ben'), 3)
    assert.deepEqual(await listedItems(scene), [['first', 'anna']])
    await inboxes.resolve({ queue: 'inbox', id, by: 'anna' })
    const late = await inboxes.note({ queue: 'inbox', id, by: 'ben', note: 'too late' })
    assert.deepEqual(late, { status: 'gone' })
  })
}
