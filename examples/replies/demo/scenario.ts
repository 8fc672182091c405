/** The steps of the demo, in order. */
import assert from 'node:assert/strict'
import { GetQueueAttributesCommand, SendMessageCommand, SQSClient } from '@aws-sdk/client-sqs'
import { until } from '../../shared/until.ts'
import { ClaudeStub } from './claude-stub.ts'
import type { RepliesSystem } from './replies-system.ts'
import { ada, ben, cleo } from './sample-conversations.ts'

type Print = (line: string) => void

const inbox = 'ai-multi-comms-human-handoff-queue-dev'
const triggerQueue = 'ai-multi-comms-trigger-delay-queue-dev'
const smsDeadLetters = 'ai-multi-comms-sms-target-dlq-dev'
const smsAlarm = 'ai-multi-comms-SMSTargetDLQ-NotEmpty-dev'

export interface ScenarioOptions {
  readonly print: Print
  /** Does not wait for the end of a minute, when the server evaluates alarms. */
  readonly skipsAlarm: boolean
}

export async function runScenario(
  system: RepliesSystem,
  { print, skipsAlarm }: ScenarioOptions,
): Promise<void> {
  await fiveMessages(system, print)
  await askForPerson(system, print)
  await using claude = await ClaudeStub.start()
  await breakDown(system, claude, print)
  await badCalls(system, print)
  await triggerByHand(system, print)
  if (!skipsAlarm) await hearAlarm(system, print)
  await repair(system, print)
}

async function fiveMessages({ provider, outbox }: RepliesSystem, print: Print): Promise<void> {
  const texts = ['Hello', 'I ordered on Monday', 'number 4711', 'it has not come', 'where is it?']
  const sids = texts.map((_, index) => `SM-ada-${index + 1}`)
  print('Ada writes five messages by WhatsApp. Her window is 2 seconds; the default is 10.')
  for (const [index, sid] of sids.entries()) {
    const { status } = await provider.deliver({ ...by(ada), sid, body: texts[index] ?? '' })
    assert.equal(status, 200)
  }
  await until(() => outbox.sent.length > 0, 'Ada has a reply')
  const [answer] = outbox.sent
  assert.equal(answer?.answers, sids.join(' '))
  print(`They become one payload and get one reply: ${answer.body}`)
}

async function askForPerson(system: RepliesSystem, print: Print): Promise<void> {
  print('Ben asks for a person by SMS. His message waits in the human handoff queue.')
  const body = 'I would like to talk to a person'
  await system.provider.deliver({ ...by(ben), sid: 'SM-ben-1', body })
  // The server has the same over HTTP, for a user interface.
  const waiting = async (): Promise<readonly { readonly id: string }[]> => {
    const response = await fetch(`${system.endpoint}/inbox/${inbox}`)
    return JSON.parse(await response.text()).items
  }
  await until(async () => (await waiting()).length > 0, 'Ben waits for a person')
  const [item] = await waiting()
  assert.ok(item !== undefined)
  const anna = ['--by', 'anna']
  await run(system, print, ['inbox', 'claim', inbox, ...anna])
  await run(system, print, ['inbox', 'note', inbox, item.id, 'waits for a call at noon', ...anna])
  await run(system, print, ['inbox', 'resolve', inbox, item.id, ...anna, '--note', 'called back'])
  assert.equal((await waiting()).length, 0)
}

async function badCalls(
  { provider, outbox, conversations }: RepliesSystem,
  print: Print,
): Promise<void> {
  const repeated = await provider.deliver({ ...by(ada), sid: 'SM-ada-1', body: 'Hello' })
  assert.deepEqual([repeated.status, repeated.outcome], [200, 'duplicate'])
  print("The provider delivers Ada's first message again: 200, a duplicate.")
  const forged = await provider.post('/webhooks/sms', 'Body=hi', {
    'content-type': 'application/x-www-form-urlencoded',
    'x-twilio-signature': 'AAAA',
  })
  assert.deepEqual([forged.status, forged.outcome], [403, 'signature_wrong'])
  print('A call with a forged signature: 403.')
  const stranger = { ...by(ben), from: '+15550100042' }
  const unknown = await provider.deliver({ ...stranger, sid: 'SM-x', body: 'Hi' })
  assert.deepEqual([unknown.status, unknown.outcome], [404, 'unknown_conversation'])
  assert.equal(conversations.refused.length, 1)
  print('A message from an unknown sender: 404, and the refusal is recorded.')
  assert.equal(outbox.sent.length, 1)
}

async function triggerByHand(system: RepliesSystem, print: Print): Promise<void> {
  const { provider, outbox, endpoint } = system
  const { customer: from, line: to, conversation_id } = cleo
  await provider.deliverEmail({ id: '<1@example.com>', from, to, text: 'Where is my invoice?' })
  print('Cleo writes an e-mail. Her window is a minute, but an operator sends a trigger by hand.')
  await sqs(endpoint).send(
    new SendMessageCommand({
      QueueUrl: urlOf(endpoint, triggerQueue),
      MessageBody: JSON.stringify({ conversation_id }),
    }),
  )
  await until(() => outbox.sent.length === 2, 'Cleo has a reply')
  print('She gets her reply at once.')
}

/** The model fails until a payload is a dead letter. */
async function breakDown(system: RepliesSystem, claude: ClaudeStub, print: Print): Promise<void> {
  await system.replaceWorker({
    ANTHROPIC_API_KEY: 'any',
    ANTHROPIC_BASE_URL: claude.url,
    // Short for the demo; the default is five seconds.
    REPLIES_RETRY_MS: '100',
  })
  // The client retries once, so each of the three attempts makes two requests.
  claude.failNext(500, 500, 500, 500, 500, 500)
  print('Claude (a stub on this machine) writes the replies now, and fails. Ben writes again.')
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
  print('After three receives his message is a dead letter. The alarm will report it.')
}

/** The server evaluates alarms five seconds after each minute. */
async function hearAlarm(system: RepliesSystem, print: Print): Promise<void> {
  print(`The server evaluates ${smsAlarm} after each minute. Waiting ...`)
  const isRaised = async (): Promise<boolean> => {
    const response = await fetch(`${system.endpoint}/alarms/${smsAlarm}`)
    return JSON.parse(await response.text()).state === 'ALARM'
  }
  await until(isRaised, 'the alarm is raised')
  await run(system, print, ['alarm', 'list', '--state', 'ALARM'])
}

/** Runs one command of the runbook, and the reply is sent. */
async function repair(system: RepliesSystem, print: Print): Promise<void> {
  const { outbox } = system
  await run(system, print, ['dlq', 'redrive', smsDeadLetters, '--yes'])
  await until(() => outbox.sent.length === 3, 'Ben has a reply')
  print(`Ben gets his reply: ${outbox.sent.at(-1)?.body}`)
  print('The dead-letter queue is empty again, so the next evaluation will clear the alarm.')
}

async function run(system: RepliesSystem, print: Print, args: readonly string[]): Promise<void> {
  const typed = args.map((arg) => (arg.includes(' ') ? `'${arg}'` : arg))
  print(`$ millrace ${typed.join(' ')}`)
  for (const line of (await system.millrace(...args)).split('\n')) print(`  ${line}`)
}

/** The server is an SQS endpoint, so the AWS SDK can send to it. */
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
