import assert from 'node:assert/strict'
import { describe, test } from 'vitest'
import { z } from 'zod'
import { openScene } from '../../test/support/worker-scene.ts'
import { defineApp } from '../contracts/define-app.ts'
import { jobs } from '../contracts/jobs-declaration.ts'
import { queue } from '../contracts/queue-declaration.ts'
import { claimRefusal, createInbox, type InboxItem } from './inbox.ts'

const app = defineApp('app', {
  queues: {
    handoff: queue({
      schema: z.object({ reason: z.string(), at: z.string().transform((at) => new Date(at)) }),
      visibilityTimeout: '1h',
      obeys: 'DESK_CLOSED',
    }),
    answers: queue({ schema: z.object({ text: z.string() }) }),
    approvals: jobs({ types: { REFUND: z.object({ amount: z.number() }) } }),
  },
})
const refund = { reason: 'refund', at: '2026-01-01T00:00:00Z' }
const byAnna = { by: 'anna' }

type Desk = Awaited<ReturnType<typeof openScene<typeof app>>>

async function openDesk(messages = 1): Promise<Desk> {
  const scene = await openScene(app)
  for (let sent = 0; sent < messages; sent += 1) await scene.mill.queues.handoff.send(refund)
  return scene
}

async function claimed({ mill }: Desk): Promise<InboxItem<{ reason: string; at: Date }>> {
  const result = await mill.inbox('handoff').claim(byAnna)
  assert.ok(result.status === 'claimed')
  return result.item
}

describe('an inbox', () => {
  test('gives messages in the form of their contract', async () => {
    const item = await claimed(await openDesk())
    assert.deepEqual(item.message, { reason: 'refund', at: new Date(refund.at) })
    assert.deepEqual(JSON.parse(item.body), refund)
  })

  test('shows what breaks the contract as it is, and lets people decide it', async () => {
    const scene = await openDesk(0)
    const { mill, backend } = scene
    const { name } = mill.queues.handoff
    await backend.send({ queue: name, messages: [{ body: 'no JSON' }, { body: '{"reason":1}' }] })
    const { items } = await mill.inbox('handoff').list()
    assert.deepEqual(
      items.map(({ message, body }) => [message, body]),
      [
        [undefined, 'no JSON'],
        [undefined, '{"reason":1}'],
      ],
    )
    const { id } = await claimed(scene)
    assert.equal((await mill.inbox('handoff').resolve(id, byAnna)).status, 'done')
  })

  test('takes times as durations', async () => {
    const scene = await openDesk()
    const inbox = scene.mill.inbox('handoff')
    const result = await inbox.claim({ ...byAnna, for: '10m' })
    assert.ok(result.status === 'claimed' && result.item.claim !== null)
    const { id, claim } = result.item
    assert.equal(claim.until - claim.at, 600_000)
    const renewed = await inbox.renew(id, { ...byAnna, for: '2h' })
    assert.ok(renewed.status === 'done')
    assert.equal(renewed.item?.claim?.until, claim.at + 7_200_000)
    await assert.rejects(inbox.renew(id, { ...byAnna, for: 'soon' as never }), /for: got 'soon'/)
  })

  test('sends what a decision says together with it', async () => {
    const scene = await openDesk()
    const { mill } = scene
    const { id } = await claimed(scene)
    const inbox = mill.inbox('handoff')
    const wrong = mill.queues.answers.prepare({ text: 7 as never })
    await assert.rejects(inbox.resolve(id, { ...byAnna, emits: [wrong] }), {
      code: 'invalid_message',
    })
    assert.equal((await inbox.read(id))?.state, 'claimed')
    const emits = [mill.queues.answers.prepare({ text: 'We pay it back.' })]
    assert.deepEqual(await inbox.resolve(id, { ...byAnna, emits }), { status: 'done', item: null })
    const [answer] = await mill.queues.answers.receive()
    assert.deepEqual(answer?.message, { text: 'We pay it back.' })
  })

  test('has pages, counts and history', async () => {
    const scene = await openDesk(3)
    const inbox = scene.mill.inbox('handoff')
    const { id } = await claimed(scene)
    await inbox.note(id, { ...byAnna, note: 'calls back at ten' })
    const first = await inbox.list({ limit: 2 })
    const second = await inbox.list({ limit: 2, ...(first.next && { after: first.next }) })
    assert.deepEqual([first.items.length, second.items.length, second.next], [2, 1, undefined])
    assert.deepEqual(await inbox.counts(byAnna), { waiting: 2, claimed: 1, mine: 1, leased: 0 })
    assert.equal((await inbox.counts()).mine, 0)
    const events = (await inbox.history(id)).map(({ event }) => event)
    assert.deepEqual(events, ['claimed', 'noted'])
    const back = await inbox.release(id, byAnna)
    assert.ok(back.status === 'done')
    assert.deepEqual([back.item?.state, back.item?.notes], ['waiting', 1])
    assert.equal(await inbox.read('missing'), undefined)
  })

  test('gives jobs out too, and completes them', async () => {
    const { mill } = await openScene(app)
    const { id } = await mill.jobs.enqueue('approvals', 'REFUND', { amount: 5 })
    const result = await mill.inbox('approvals').claim(byAnna)
    assert.ok(result.status === 'claimed')
    assert.deepEqual(result.item.message, { amount: 5 })
    await mill.inbox('approvals').resolve(id, byAnna)
    assert.equal((await mill.jobs.get(id))?.status, 'completed')
  })

  test('is held by the kill switches that its queue obeys', async () => {
    const { mill, backend } = await openDesk()
    const { name } = mill.queues.handoff
    const closed = createInbox({ backend, name, heldNames: ['DESK_CLOSED'] })
    assert.deepEqual(await closed.claim(byAnna), { status: 'none' })
    assert.equal((await mill.inbox('handoff').claim(byAnna)).status, 'claimed')
  })

  test('is of a queue that the app has, on a backend that knows handoff', async () => {
    const { mill } = await openScene(app)
    assert.throws(() => mill.inbox('handof' as never), { code: 'queue_not_found' })
    const none = createInbox({ backend: { inboxes: null }, name: 'handoff' })
    await assert.rejects(none.list(), { code: 'unsupported' })
  })

  test('says in words why a claim does not do', () => {
    assert.deepEqual(
      [
        claimRefusal({ status: 'not_yours', holder: 'ben' }),
        claimRefusal({ status: 'not_yours', holder: null }),
        claimRefusal({ status: 'lapsed' }),
        claimRefusal({ status: 'stale' }),
        claimRefusal({ status: 'gone' }),
      ],
      [
        'ben has claimed this message.',
        'You have not claimed this message.',
        'Your claim has expired. Claim the message again.',
        'The token belongs to an earlier claim.',
        'The message no longer exists.',
      ],
    )
  })
})
