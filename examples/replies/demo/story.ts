/** What the demo shows, in the order in which it would happen. */
import assert from 'node:assert/strict'
import { GetQueueAttributesCommand, SendMessageCommand, SQSClient } from '@aws-sdk/client-sqs'
import { until } from '../../shared/until.ts'
import { ClaudeStandIn } from './claude-stand-in.ts'
import type { RepliesSystem } from './replies-system.ts'
import { ada, ben, cleo } from './sample-conversations.ts'

type Tell = (line: string) => void

const inbox = 'ai-multi-comms-human-handoff-queue-dev'
const triggerQueue = 'ai-multi-comms-trigger-delay-queue-dev'
const smsDeadLetters = 'ai-multi-comms-sms-target-dlq-dev'
const smsAlarm = 'ai-multi-comms-SMSTargetDLQ-NotEmpty-dev'

export async function playStory(system: RepliesSystem, tell: Tell): Promise<void> {
  await fiveMessages(system, tell)
  await askForPerson(system, tell)
  await using claude = await ClaudeStandIn.start()
  await breakDown(system, claude, tell)
  await badCalls(system, tell)
  await triggerByHand(system, tell)
  await hearAlarm(system, tell)
  await repair(system, tell)
}

async function fiveMessages({ provider, outbox }: RepliesSystem, tell: Tell): Promise<void> {
  const texts = ['Hello', 'I ordered on Monday', 'number 4711', 'it has not come', 'where is it?']
  const sids = texts.map((_, index) => `SM-ada-${index + 1}`)
  tell(
    'Ada writes five messages by WhatsApp. Her window is 2 seconds, for this story; usual are 10.',
  )
  for (const [index, sid] of sids.entries()) {
    const { status } = await provider.deliver({ ...by(ada), sid, body: texts[index] ?? '' })
    assert.equal(status, 200)
  }
  await until(() => outbox.sent.length > 0, 'Ada was answered')
  const [answer] = outbox.sent
  assert.equal(answer?.answers, sids.join(' '))
  tell(`They become one payload, and get one answer: ${answer.body}`)
}

async function askForPerson(system: RepliesSystem, tell: Tell): Promise<void> {
  tell('Ben asks for a person by SMS. His message waits in the human handoff queue.')
  const body = 'I would like to talk to a person'
  await system.provider.deliver({ ...by(ben), sid: 'SM-ben-1', body })
  // The server has the same as an API: this is what a screen would ask for.
  const waiting = async (): Promise<readonly { readonly id: string }[]> => {
    const response = await fetch(`${system.endpoint}/inbox/${inbox}`)
    return JSON.parse(await response.text()).items
  }
  await until(async () => (await waiting()).length > 0, 'Ben waits for a person')
  const [item] = await waiting()
  assert.ok(item !== undefined)
  const anna = ['--by', 'anna']
  await run(system, tell, ['inbox', 'claim', inbox, ...anna])
  await run(system, tell, ['inbox', 'note', inbox, item.id, 'waits for a call at noon', ...anna])
  await run(system, tell, ['inbox', 'resolve', inbox, item.id, ...anna, '--note', 'called back'])
  assert.equal((await waiting()).length, 0)
}

async function badCalls({ provider, outbox, book }: RepliesSystem, tell: Tell): Promise<void> {
  const repeated = await provider.deliver({ ...by(ada), sid: 'SM-ada-1', body: 'Hello' })
  assert.deepEqual([repeated.status, repeated.says], [200, 'duplicate'])
  tell('The provider delivers the first message of Ada again: 200, a duplicate.')
  const forged = await provider.post('/webhooks/sms', 'Body=hi', {
    'content-type': 'application/x-www-form-urlencoded',
    'x-twilio-signature': 'AAAA',
  })
  assert.deepEqual([forged.status, forged.says], [403, 'signature_wrong'])
  tell('Somebody who does not know the secret calls the webhook: 403.')
  const stranger = { ...by(ben), from: '+15550100042' }
  const unknown = await provider.deliver({ ...stranger, sid: 'SM-x', body: 'Hi' })
  assert.deepEqual([unknown.status, unknown.says], [404, 'unknown_conversation'])
  assert.equal(book.refused.length, 1)
  tell('Somebody writes whom nobody knows: 404, and a line in the book of refused messages.')
  assert.equal(outbox.sent.length, 1)
}

async function triggerByHand(system: RepliesSystem, tell: Tell): Promise<void> {
  const { provider, outbox, endpoint } = system
  const { customer: from, line: to, conversation_id } = cleo
  await provider.deliverEmail({ id: '<1@example.com>', from, to, text: 'Where is my invoice?' })
  tell('Cleo writes an e-mail. Her window is a minute, but an operator sends a trigger by hand.')
  await sqs(endpoint).send(
    new SendMessageCommand({
      QueueUrl: urlOf(endpoint, triggerQueue),
      MessageBody: JSON.stringify({ conversation_id }),
    }),
  )
  await until(() => outbox.sent.length === 2, 'Cleo was answered')
  tell('She has her answer at once.')
}

/** The model fails until a payload is a dead letter. */
async function breakDown(system: RepliesSystem, claude: ClaudeStandIn, tell: Tell): Promise<void> {
  await system.replaceWorker({
    ANTHROPIC_API_KEY: 'any',
    ANTHROPIC_BASE_URL: claude.url,
    // Five seconds are a long time to watch.
    REPLIES_RETRY_MS: '100',
  })
  // Each of the three attempts asks twice.
  claude.failNext(500, 500, 500, 500, 500, 500)
  tell('Now Claude answers (a stand-in on this machine), and fails. Ben writes again.')
  const { provider, endpoint } = system
  await provider.deliver({ ...by(ben), sid: 'SM-ben-2', body: 'Thanks for the call!' })
  const deadLetters = async (): Promise<string | undefined> => {
    const { Attributes } = await sqs(endpoint).send(
      new GetQueueAttributesCommand({
        QueueUrl: urlOf(endpoint, smsDeadLetters),
        AttributeNames: ['ApproximateNumberOfMessages'],
      }),
    )
    return Attributes?.['ApproximateNumberOfMessages']
  }
  await until(async () => (await deadLetters()) === '1', 'the payload is a dead letter')
  tell('After three receives his message is a dead letter. Nobody has to look: the alarm will.')
}

/** Alarms are evaluated five seconds after each minute, as a server does it for anybody. */
async function hearAlarm(system: RepliesSystem, tell: Tell): Promise<void> {
  tell(`The server evaluates ${smsAlarm} after each minute. Waiting for that ...`)
  await untilAlarmIs(system, 'ALARM')
  await run(system, tell, ['alarm', 'list', '--state', 'ALARM'])
}

/** One line of the runbook, and what follows from it. */
async function repair(system: RepliesSystem, tell: Tell): Promise<void> {
  const { outbox } = system
  await run(system, tell, ['dlq', 'redrive', smsDeadLetters, '--yes'])
  await until(() => outbox.sent.length === 3, 'Ben was answered')
  tell(`Ben is answered: ${outbox.sent.at(-1)?.body}`)
  tell('The dead-letter queue is empty again. Waiting for the next evaluation ...')
  await untilAlarmIs(system, 'OK')
  await run(system, tell, ['alarm', 'history', smsAlarm])
}

/** A minute, the five seconds after it, and some more for a slow machine. */
const alarmPatienceMs = 120_000

async function untilAlarmIs({ endpoint }: RepliesSystem, state: string): Promise<void> {
  const isSo = async (): Promise<boolean> => {
    const response = await fetch(`${endpoint}/alarms/${smsAlarm}`)
    return JSON.parse(await response.text()).state === state
  }
  await until(isSo, `the alarm is ${state}`, alarmPatienceMs)
}

async function run(system: RepliesSystem, tell: Tell, args: readonly string[]): Promise<void> {
  const typed = args.map((arg) => (arg.includes(' ') ? `'${arg}'` : arg))
  tell(`$ millrace ${typed.join(' ')}`)
  for (const line of (await system.millrace(...args)).split('\n')) tell(`  ${line}`)
}

/** The server is an SQS endpoint: whatever speaks to SQS speaks to it. */
function sqs(endpoint: string): SQSClient {
  const credentials = { accessKeyId: 'any', secretAccessKey: 'any' }
  return new SQSClient({ endpoint, region: 'us-east-1', credentials })
}

function urlOf(endpoint: string, queue: string): string {
  return `${endpoint}/000000000000/${queue}`
}

function by({ customer: from, line: to, channel_type }: typeof ada) {
  const channel = channel_type === 'whatsapp' ? 'whatsapp' : 'sms'
  return { channel, from, to } as const
}
