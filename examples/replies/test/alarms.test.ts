/** The alarms of the template, at their thresholds and periods, as a server evaluates them. */
import assert from 'node:assert/strict'
import { describe, test } from 'vitest'
import { type Fixture, minute, openWatchedFixture, second } from './fixture.ts'

const named = (alarm: string): string => `ai-multi-comms-${alarm}-dev`

async function fill({ backend }: Fixture, queue: string, count: number): Promise<void> {
  const messages = Array.from({ length: count }, () => ({ body: '{}' }))
  await backend.send({ queue: named(queue), messages })
}

/**
 * Advances the clock minute by minute and returns the state after each: `.` for OK, `!` for ALARM. Several
 * alarms must have the same state.
 */
async function watch(
  fixture: Fixture,
  alarms: readonly string[],
  minutes: number,
): Promise<string> {
  let seen = ''
  for (let passed = 0; passed < minutes; passed += 1) {
    await fixture.clock.advance(minute)
    const states = await fixture.alarms()
    const [state, ...others] = new Set(alarms.map((alarm) => states.get(named(alarm))))
    assert.deepEqual(others, [])
    seen += state === 'OK' ? '.' : state === 'ALARM' ? '!' : '?'
  }
  return seen
}

/** Each queue, with the prefix of its alarm names. */
const queues = [
  ['trigger-delay-queue', 'TriggerDelay'],
  ['whatsapp-target-queue', 'WhatsAppTarget'],
  ['sms-target-queue', 'SMSTarget'],
  ['email-target-queue', 'EmailTarget'],
  ['human-handoff-queue', 'HumanHandoff'],
] as const

async function take({ backend }: Fixture, queue: string, max: number): Promise<void> {
  const hour = 60 * minute
  const request = { queue: named(queue), max, waitMs: 0, visibilityMs: hour }
  assert.equal((await backend.receive(request)).length, max)
}

async function each(work: (queue: string) => Promise<unknown>): Promise<void> {
  for (const [queue] of queues) await work(queue)
}

describe('the server', () => {
  test('evaluates the twenty alarms of the template, and all are OK at first', async () => {
    const { alarms } = await openWatchedFixture()
    const states = [...(await alarms()).values()]
    // The app's default alarms leave these dead-letter queues to the template's.
    assert.deepEqual(states, Array(20).fill('OK'))
  })

  test('raises an alarm when more than 100 wait in a queue for five minutes', async () => {
    const fixture = await openWatchedFixture()
    const alarms = queues.map(([, name]) => `${name}-Depth`)
    await each((queue) => fill(fixture, queue, 100))
    assert.equal(await watch(fixture, alarms, 6), '......')
    await each((queue) => fill(fixture, queue, 1))
    assert.equal(await watch(fixture, alarms, 6), '....!!')
    await each((queue) => take(fixture, queue, 1))
    assert.equal(await watch(fixture, alarms, 1), '.')
  })

  test('raises an alarm when more than 50 of a queue are in flight for ten minutes', async () => {
    const fixture = await openWatchedFixture()
    const alarms = queues.map(([, name]) => `${name}-InFlight`)
    await each((queue) => fill(fixture, queue, 60))
    await each((queue) => take(fixture, queue, 50))
    assert.equal(await watch(fixture, alarms, 11), '...........')
    await each((queue) => take(fixture, queue, 1))
    assert.equal(await watch(fixture, alarms, 11), '.........!!')
    await each((queue) => fixture.backend.purgeQueue({ queue: named(queue) }))
    assert.equal(await watch(fixture, alarms, 1), '.')
  })

  test('raises an alarm for a trigger older than ten minutes, or another message older than an hour', async () => {
    const fixture = await openWatchedFixture()
    // Sent at the end of a minute, so that ages are whole minutes.
    await fixture.clock.advance(50 * second)
    await each((queue) => fill(fixture, queue, 1))
    await fixture.clock.advance(10 * second)
    const [trigger = '', ...others] = queues.map(([, name]) => `${name}-OldestAge`)
    assert.equal(await watch(fixture, [trigger], 11), '..........!')
    assert.equal(await watch(fixture, others, 50), `${'.'.repeat(49)}!`)
    await each((queue) => fixture.backend.purgeQueue({ queue: named(queue) }))
    assert.equal(await watch(fixture, [trigger, ...others], 2), '..')
  })

  test('raises an alarm when more than 50 wait for a person', async () => {
    const fixture = await openWatchedFixture()
    await fill(fixture, 'human-handoff-queue', 50)
    assert.equal(await watch(fixture, ['HumanHandoff-Crowded'], 2), '..')
    await fill(fixture, 'human-handoff-queue', 1)
    assert.equal(await watch(fixture, ['HumanHandoff-Crowded'], 2), '!!')
    await take(fixture, 'human-handoff-queue', 1)
    assert.equal(await watch(fixture, ['HumanHandoff-Crowded'], 1), '.')
  })

  test('calls dead letters critical, and everything else a warning', async () => {
    const { endpoint } = await openWatchedFixture()
    const response = await fetch(`${endpoint}/alarms`)
    const { alarms } = JSON.parse(await response.text())
    for (const { name, severity } of alarms) {
      const expected = /DLQ-NotEmpty-dev$|-not-empty$/.test(name) ? 'critical' : 'warning'
      assert.equal(severity, expected, name)
    }
  })
})
