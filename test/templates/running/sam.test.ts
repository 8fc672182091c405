/** A SAM project with the queues of a messaging system: triggers, channels, people. */
import assert from 'node:assert/strict'
import { describe, test } from 'vitest'
import { runHere, untilVersion, variableOf } from './running-project.ts'

/** What a function has finished is deleted a moment after others can see its effects. */
async function untilEmpty(look: () => Promise<Readonly<Record<string, string>>>): Promise<void> {
  for (;;) {
    const { ApproximateNumberOfMessages: waiting, ApproximateNumberOfMessagesNotVisible: leased } =
      await look()
    if (waiting === '0' && leased === '0') return
  }
}

describe('a SAM template of globals, parameters and SQS events', () => {
  test('goes up with every queue as it is declared', async () => {
    const { queue, attributes } = await runHere('sam', 'template.yaml')
    const trigger = await attributes(await queue('ai-multi-comms-trigger-delay-queue-dev'))
    assert.equal(trigger['VisibilityTimeout'], '905')
    assert.equal(trigger['SqsManagedSseEnabled'], 'true')
    for (const channel of ['whatsapp', 'sms', 'email']) {
      const target = await attributes(await queue(`ai-multi-comms-${channel}-target-queue-dev`))
      const dead = await attributes(await queue(`ai-multi-comms-${channel}-target-dlq-dev`))
      assert.deepEqual(JSON.parse(target['RedrivePolicy'] ?? '{}'), {
        deadLetterTargetArn: dead['QueueArn'],
        maxReceiveCount: 3,
      })
      assert.equal(dead['MessageRetentionPeriod'], '1209600')
    }
    const handoff = await attributes(await queue('ai-multi-comms-human-handoff-queue-dev'))
    assert.equal(handoff['VisibilityTimeout'], '3600')
    assert.equal(handoff['RedrivePolicy'], undefined)
  })

  test('hands triggers to channels and to people, through plain and Powertools handlers', async () => {
    const project = await runHere('sam', 'template.yaml', {
      parameters: { EnvironmentName: 'test' },
    })
    const { dev, queue, send, take } = project
    const trigger = variableOf(dev, 'StagingFunction', 'TRIGGER_QUEUE_URL')
    const receipts = variableOf(dev, 'WhatsAppFunction', 'RECEIPTS_QUEUE_URL')
    const sent = { version: 'v1', environment: 'test' }

    // As the document has it, the delay is that of each message.
    await send(trigger, { body: { channel: 'whatsapp', text: 'hello' }, delaySeconds: 1 })
    assert.deepEqual((await take(receipts)).body, {
      ...sent,
      channel: 'whatsapp',
      text: 'hello',
      receives: 1,
    })
    await send(trigger, { body: { channel: 'whatsapp', handoff: true } })
    const handoff = variableOf(dev, 'MessagingFunction', 'HANDOFF_QUEUE_URL')
    assert.equal((await take(handoff)).body['handoff'], true)
    await send(trigger, { body: { channel: 'sms', text: 'short' } })
    const sms = await take(await queue('ai-multi-comms-sms-target-queue-test'))
    assert.deepEqual(sms.body, { ...sent, channel: 'sms', text: 'short' })
  })

  test('tries the failed part of a batch again, and buries what fails three times', async () => {
    const { dev, queue, send, take, attributes } = await runHere('sam', 'template.yaml')
    const target = variableOf(dev, 'MessagingFunction', 'WHATSAPP_QUEUE_URL')
    const receipts = variableOf(dev, 'WhatsAppFunction', 'RECEIPTS_QUEUE_URL')
    await send(
      target,
      { body: { channel: 'whatsapp', text: 'fail' } },
      { body: { channel: 'whatsapp', text: 'fail once' } },
      { body: { channel: 'whatsapp', text: 'fine' } },
      { body: { channel: 'letter', text: 'not for this function' } },
    )
    const taken = [await take(receipts), await take(receipts)]
    const receives = taken.map(({ body }) => [body['text'], body['receives']])
    assert.deepEqual(Object.fromEntries(receives), { fine: 1, 'fail once': 2 })
    const dead = await take(await queue('ai-multi-comms-whatsapp-target-dlq-dev'))
    assert.equal(dead.body['text'], 'fail')
    // What the filter leaves out is gone, and never became a dead letter.
    await untilEmpty(() => attributes(target))
    const buried = await attributes(await queue('ai-multi-comms-whatsapp-target-dlq-dev'))
    assert.equal(buried['ApproximateNumberOfMessages'], '0')
  })

  test('takes over a handler that was changed', async () => {
    const { dev, send, take, edit } = await runHere('sam', 'template.yaml')
    const trigger = variableOf(dev, 'StagingFunction', 'TRIGGER_QUEUE_URL')
    const handoff = variableOf(dev, 'MessagingFunction', 'HANDOFF_QUEUE_URL')
    await edit('src/messaging.mjs', (text) => text.replace("'v1'", "'v2'"))
    await untilVersion('v2', async (turn) => {
      await send(trigger, { body: { handoff: true, turn } })
      return take(handoff)
    })
  })
})
