/** Payloads and triggers that fail: three receives, a dead letter, an alarm, and a redrive by the runbook. */
import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, test } from 'vitest'
import { runCli } from '../../../test/support/cli-process.ts'
import type { ReplyWriter } from '../answering/reply-writer.ts'
import { ada, ben, cleo } from '../demo/sample-conversations.ts'
import { type Fixture, from, minute, openWatchedFixture } from './fixture.ts'

/** Fails until the test sets `isRepaired`. */
class BrokenWriter implements ReplyWriter {
  isRepaired = false
  attempts = 0

  async write(): Promise<string> {
    this.attempts += 1
    if (!this.isRepaired) throw new Error('The model is not available.')
    return 'an answer'
  }
}

/** The redrive command of the README, without its folder. */
async function runbook(queue: string): Promise<readonly string[]> {
  const readme = await readFile(join(import.meta.dirname, '..', 'README.md'), 'utf8')
  const lines = readme.split('\n').filter((line) => line.startsWith('millrace dlq redrive '))
  const line = lines.find((one) => one.includes(` ${queue} `))
  assert.ok(line, `The README has no redrive command for ${queue}.`)
  return line.replace('millrace ', '').replace('--data .millrace/replies ', '').split(' ')
}

async function redrive({ variables }: Fixture, queue: string): Promise<void> {
  const { code, stdout, stderr } = await runCli(await runbook(queue), variables)
  assert.equal(code, 0, stderr)
  assert.match(stdout, /Moved 1 of 1/)
}

/** Skips most of the visibility timeout. */
async function leaseEnds(clock: Fixture['clock']): Promise<void> {
  clock.sleep(900_000)
  await clock.advance(5_000)
}

const channels = ['whatsapp', 'sms', 'email'] as const

describe('a reply that fails', () => {
  test('is dead-lettered after three receives, raises an alarm, and is sent after a redrive', async () => {
    const fixture = await openWatchedFixture()
    const { mill, provider, outbox, clock, startWorker, passing, alarms } = fixture
    const writer = new BrokenWriter()
    startWorker(writer)
    await provider.deliver(from(ada, 'SM1', 'hello'))
    await provider.deliver(from(ben, 'SM2', 'hello'))
    const { customer, line } = cleo
    await provider.deliverEmail({ id: '<1@x>', from: customer, to: line, text: 'hello' })
    for (const channel of channels) {
      const { deadLetters } = mill.queues[channel]
      await passing(async () => (await deadLetters.statistics()).ready === 1)
      assert.equal((await mill.queues[channel].statistics()).totals.received, 3)
    }
    assert.equal(writer.attempts, 9)
    assert.deepEqual(outbox.sent, [])

    const ringing = async (): Promise<readonly (string | undefined)[]> => {
      await clock.advance(2 * minute)
      const states = await alarms()
      const names = ['WhatsAppTargetDLQ', 'SMSTargetDLQ', 'EmailTargetDLQ']
      return names.map((name) => states.get(`ai-multi-comms-${name}-NotEmpty-dev`))
    }
    assert.deepEqual(await ringing(), ['ALARM', 'ALARM', 'ALARM'])
    writer.isRepaired = true
    for (const channel of channels)
      await redrive(fixture, `ai-multi-comms-${channel}-target-dlq-dev`)
    await passing(() => outbox.sent.length === 3)
    assert.deepEqual(await ringing(), ['OK', 'OK', 'OK'])
  })
})

describe('a trigger that fails', () => {
  test('is dead-lettered after three receives, raises an alarm, and is merged after a redrive', async () => {
    const fixture = await openWatchedFixture()
    const { mill, backend, provider, outbox, clock, startWorker, passing, alarms } = fixture
    await provider.deliver(from(ada, 'SM1', 'hello'))
    // Three workers receive it and crash.
    for (let receive = 1; receive <= 3; receive += 1) {
      await leaseEnds(clock)
      const request = { queue: mill.queues.triggerDelay.name, max: 1, waitMs: 0 }
      assert.equal((await backend.receive(request)).length, 1)
    }
    await leaseEnds(clock)
    startWorker()
    const { deadLetters } = mill.queues.triggerDelay
    await passing(async () => (await deadLetters.statistics()).ready === 1)
    const waiting = await mill.collectors.conversations.inspect('conv-ada')
    assert.deepEqual([waiting?.staged, waiting?.trigger], [1, 'dead'])
    await clock.advance(2 * minute)
    const alarm = 'ai-multi-comms-TriggerDelayDLQ-NotEmpty-dev'
    assert.equal((await alarms()).get(alarm), 'ALARM')

    await redrive(fixture, 'ai-multi-comms-trigger-delay-dlq-dev')
    await passing(() => outbox.sent.length === 1)
    await clock.advance(2 * minute)
    assert.equal((await alarms()).get(alarm), 'OK')
  })
})
