/** From webhooks to merged payloads. */
import assert from 'node:assert/strict'
import { describe, test } from 'vitest'
import { ada, ben, cleo, dora } from '../demo/sample-conversations.ts'
import { from, openFixture, second } from './fixture.ts'

const longAda = { ...ada, window_seconds: null }

function context({ customer_name, current_step, thread_id }: typeof ada) {
  const ids = { project_id: 'project_456', company_id: 'company_123' }
  return { ...ids, thread_id, customer_name, current_step }
}

describe('five messages of one conversation', () => {
  test('become one payload with all fields when the window ends', async () => {
    const { provider, conversations, clock, mill, payloads, passing } = await openFixture()
    conversations.add(longAda)
    mill.worker({ poll: ['triggerDelay'], handle: {} }).start()
    const begin = clock.now()
    for (const number of [1, 2, 3, 4, 5]) {
      const answer = await provider.deliver(from(ada, `SM${number}`, `part ${number}`))
      assert.deepEqual([answer.status, answer.outcome], [200, 'staged'])
      await clock.advance(1_900)
      assert.deepEqual(await payloads('whatsapp'), [])
    }
    await passing(async () => (await payloads('whatsapp')).length > 0)
    assert.ok(clock.now() - begin < 11 * second)
    assert.deepEqual(await payloads('whatsapp'), [
      {
        conversation_id: 'conv-ada',
        merged_body: 'part 1\npart 2\npart 3\npart 4\npart 5',
        channel_type: 'whatsapp',
        sender_id: 'whatsapp:+15550100001',
        recipient_id: 'whatsapp:+15550199999',
        first_message_received_at: new Date(begin).toISOString(),
        last_message_received_at: new Date(begin + 4 * 1_900).toISOString(),
        message_sids: ['SM1', 'SM2', 'SM3', 'SM4', 'SM5'],
        handoff_reason: null,
        full_conversation_context: context(ada),
      },
    ])
  })

  test('have one trigger, with only the conversation id, delayed by ten seconds', async () => {
    const { provider, conversations, mill, clock } = await openFixture()
    conversations.add(longAda)
    for (const sid of ['SM1', 'SM2']) await provider.deliver(from(ada, sid, 'hello'))
    const { items } = await mill.queues.triggerDelay.peek({ state: 'delayed' })
    assert.deepEqual(
      items.map(({ body }) => body),
      ['{"conversation_id":"conv-ada"}'],
    )
    const { dueAt } = (await mill.collectors.conversations.inspect('conv-ada')) ?? {}
    assert.equal(dueAt, clock.now() + 10 * second)
  })

  test('are collected for the window of their conversation, if it has one', async () => {
    const { provider, mill, clock } = await openFixture()
    await provider.deliver(from(ada, 'SM1', 'hello'))
    const { dueAt } = (await mill.collectors.conversations.inspect('conv-ada')) ?? {}
    assert.equal(dueAt, clock.now() + 2 * second)
  })

  test('are merged in order of arrival, even if a slow webhook stages one late', async () => {
    const { provider, watch, payloads, mill, clock, passing } = await openFixture()
    const begin = clock.now()
    // The first message to arrive is staged last.
    for (const [sid, behindMs] of [
      ['SM3', 0],
      ['SM1', 900],
      ['SM2', 500],
    ] as const) {
      watch.behindMs = behindMs
      await provider.deliver(from(ada, sid, `text of ${sid}`))
    }
    mill.worker({ poll: ['triggerDelay'], handle: {} }).start()
    await passing(async () => (await payloads('whatsapp')).length > 0)
    const [payload] = await payloads('whatsapp')
    assert.deepEqual(payload?.message_sids, ['SM1', 'SM2', 'SM3'])
    assert.equal(payload?.merged_body, 'text of SM1\ntext of SM2\ntext of SM3')
    assert.equal(payload?.first_message_received_at, new Date(begin - 900).toISOString())
  })

  test('open the next window if they arrive after the merge', async () => {
    const { provider, outbox, startWorker, passing } = await openFixture()
    startWorker()
    await provider.deliver(from(ada, 'SM1', 'hello'))
    await passing(() => outbox.sent.length === 1)
    await provider.deliver(from(ada, 'SM2', 'are you there?'))
    await passing(() => outbox.sent.length === 2)
    assert.deepEqual(
      outbox.sent.map(({ answers }) => answers),
      ['SM1', 'SM2'],
    )
  })
})

describe('a message that was delivered before', () => {
  test('is a duplicate before and after the merge, and returns 200', async () => {
    const { provider, outbox, mill, clock, startWorker, passing } = await openFixture()
    const again = async (): Promise<unknown> => {
      const { status, outcome } = await provider.deliver(from(ada, 'SM1', 'hello'))
      return [status, outcome]
    }
    assert.deepEqual(await again(), [200, 'staged'])
    assert.deepEqual(await again(), [200, 'duplicate'])
    startWorker()
    await passing(() => outbox.sent.length === 1)
    assert.deepEqual(await again(), [200, 'duplicate'])
    await clock.advance(20 * second)
    assert.equal(outbox.sent.length, 1)
    assert.equal(await mill.collectors.conversations.inspect('conv-ada'), undefined)
  })
})

describe('each channel', () => {
  test('has its own queue, and replies use the same channel', async () => {
    const { provider, outbox, startWorker, passing } = await openFixture()
    startWorker()
    await provider.deliver(from(ada, 'SM-a', 'hello'))
    await provider.deliver(from(ben, 'SM-b', 'hello'))
    const { customer, line } = cleo
    // Addresses are compared without case.
    const mail = { id: '<1@x>', from: customer.toUpperCase(), to: line, text: 'hello' }
    const { status, outcome } = await provider.deliverEmail(mail)
    assert.deepEqual([status, outcome], [200, 'staged'])
    await passing(() => outbox.sent.length === 3)
    const ends = outbox.sent.map(({ channel_type, sender_id, recipient_id }) => [
      channel_type,
      sender_id,
      recipient_id,
    ])
    assert.deepEqual(ends.sort(), [
      ['email', cleo.line, cleo.customer],
      ['sms', ben.line, ben.customer],
      ['whatsapp', ada.line, ada.customer],
    ])
  })
})

describe('a payload for a person', () => {
  test('has the reason user_requested if one of its messages asks for a person', async () => {
    const { provider, startWorker, payloads, passing, outbox } = await openFixture()
    startWorker()
    await provider.deliver(from(ben, 'SM1', 'I have a question'))
    await provider.deliver(from(ben, 'SM2', 'Can I talk to a real person?'))
    await provider.deliver(from(ben, 'SM3', 'Thanks'))
    await passing(async () => (await payloads('handoff')).length > 0)
    const [payload] = await payloads('handoff')
    assert.equal(payload?.handoff_reason, 'user_requested')
    assert.equal(payload?.channel_type, 'sms')
    assert.deepEqual(payload?.message_sids, ['SM1', 'SM2', 'SM3'])
    assert.deepEqual(outbox.sent, [])
  })

  test('has the reason auto_queued if its conversation is flagged', async () => {
    const { provider, startWorker, payloads, passing } = await openFixture()
    startWorker()
    await provider.deliver(from(dora, 'SM1', 'hello'))
    await passing(async () => (await payloads('handoff')).length > 0)
    assert.equal((await payloads('handoff'))[0]?.handoff_reason, 'auto_queued')
  })
})

describe('a trigger', () => {
  test('that arrives during a merge of its conversation is acknowledged, and nothing is lost', async () => {
    const fixture = await openFixture()
    const { mill, backend, provider, outbox, lines, startWorker, passing, clock } = fixture
    const { triggerDelay } = mill.queues
    await provider.deliver(from(ada, 'SM1', 'hello'))
    await clock.advance(2 * second)
    // A worker begins the batch and crashes.
    const queue = triggerDelay.name
    const [held] = await backend.receive({ queue, max: 1, waitMs: 0 })
    const batch = await backend.collectors?.begin({
      ...{ collector: 'replies-dev-conversations', key: ada.conversation_id },
      ...{ queue, receipt: held?.receipt ?? '', maxItems: 100, maxBytes: 1_000_000 },
    })
    assert.equal(batch?.status, 'begun')
    startWorker()
    await provider.deliver(from(ada, 'SM2', 'are you there?'))
    await triggerDelay.send({ conversation_id: ada.conversation_id })
    await clock.advance(60 * second)
    const { ready, leased, delayed } = await triggerDelay.statistics()
    assert.deepEqual([ready, leased, delayed], [0, 1, 0])
    assert.deepEqual(outbox.sent, [])

    clock.sleep((905 - 60 - 1) * second)
    await clock.advance(second)
    await passing(() => outbox.sent.length > 0)
    assert.deepEqual(
      outbox.sent.map(({ answers }) => answers),
      ['SM1 SM2'],
    )
    assert.equal((await triggerDelay.deadLetters.statistics()).ready, 0)
    // Only the alarm on old messages has fired.
    const troubles = lines.filter(({ level }) => level === 'warn' || level === 'error')
    assert.ok(troubles.every(({ message }) => message.startsWith('alarm ')))
  })

  test('without a conversation id is dead-lettered', async () => {
    const { mill, startWorker, passing } = await openFixture()
    startWorker()
    await mill.queues.triggerDelay.send({ conversation: 'conv-ada' })
    const { deadLetters } = mill.queues.triggerDelay
    await passing(async () => (await deadLetters.statistics()).ready === 1)
  })
})
