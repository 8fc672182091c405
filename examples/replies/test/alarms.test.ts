/** The alarms of the template, at their thresholds and periods, as a server evaluates them. */
import assert from 'node:assert/strict'
import { describe, test } from 'vitest'
import { minute, openWatchedScene, type Scene, second } from './scene.ts'

const named = (alarm: string): string => `ai-multi-comms-${alarm}-dev`

async function fill({ backend }: Scene, queue: string, count: number): Promise<void> {
  const messages = Array.from({ length: count }, () => ({ body: '{}' }))
  await backend.send({ queue: named(queue), messages })
}

/**
 * Lets minutes pass, and answers how alarms stand after each: `.` for OK, `!` for ALARM. Where they are
 * several, they must agree.
 */
async function watch(scene: Scene, alarms: readonly string[], minutes: number): Promise<string> {
  let seen = ''
  for (let passed = 0; passed < minutes; passed += 1) {
    await scene.clock.advance(minute)
    const states = await scene.alarms()
    const [state, ...others] = new Set(alarms.map((alarm) => states.get(named(alarm))))
    assert.deepEqual(others, [])
    seen += state === 'OK' ? '.' : state === 'ALARM' ? '!' : '?'
  }
  return seen
}

/** Each queue, and what its alarms are called by. */
const queues = [
  ['trigger-delay-queue', 'TriggerDelay'],
  ['whatsapp-target-queue', 'WhatsAppTarget'],
  ['sms-target-queue', 'SMSTarget'],
  ['email-target-queue', 'EmailTarget'],
  ['human-handoff-queue', 'HumanHandoff'],
] as const

async function take({ backend }: Scene, queue: string, max: number): Promise<void> {
  const hour = 60 * minute
  const request = { queue: named(queue), max, waitMs: 0, visibilityMs: hour }
  assert.equal((await backend.receive(request)).length, max)
}

async function each(work: (queue: string) => Promise<unknown>): Promise<void> {
  for (const [queue] of queues) await work(queue)
}

describe('the server', () => {
  test('evaluates the twenty alarms of the template, all of them in order at first', async () => {
    const { alarms } = await openWatchedScene()
    const states = [...(await alarms()).values()]
    // Those that the app would have by default leave the dead letters to them.
    assert.deepEqual(states, Array(20).fill('OK'))
  })

  test('rings when more than 100 wait in a queue for five minutes', async () => {
    const scene = await openWatchedScene()
    const alarms = queues.map(([, name]) => `${name}-Depth`)
    await each((queue) => fill(scene, queue, 100))
    assert.equal(await watch(scene, alarms, 6), '......')
    await each((queue) => fill(scene, queue, 1))
    assert.equal(await watch(scene, alarms, 6), '....!!')
    await each((queue) => take(scene, queue, 1))
    assert.equal(await watch(scene, alarms, 1), '.')
  })

  test('rings when more than 50 of a queue are in work for ten minutes', async () => {
    const scene = await openWatchedScene()
    const alarms = queues.map(([, name]) => `${name}-InFlight`)
    await each((queue) => fill(scene, queue, 60))
    await each((queue) => take(scene, queue, 50))
    assert.equal(await watch(scene, alarms, 11), '...........')
    await each((queue) => take(scene, queue, 1))
    assert.equal(await watch(scene, alarms, 11), '.........!!')
    await each((queue) => scene.backend.purgeQueue({ queue: named(queue) }))
    assert.equal(await watch(scene, alarms, 1), '.')
  })

  test('rings when a message is older than ten minutes as a trigger, or an hour otherwise', async () => {
    const scene = await openWatchedScene()
    // With the end of a minute, so that ages are whole numbers of them.
    await scene.clock.advance(50 * second)
    await each((queue) => fill(scene, queue, 1))
    await scene.clock.advance(10 * second)
    const [trigger = '', ...others] = queues.map(([, name]) => `${name}-OldestAge`)
    assert.equal(await watch(scene, [trigger], 11), '..........!')
    assert.equal(await watch(scene, others, 50), `${'.'.repeat(49)}!`)
    await each((queue) => scene.backend.purgeQueue({ queue: named(queue) }))
    assert.equal(await watch(scene, [trigger, ...others], 2), '..')
  })

  test('rings when more than 50 wait for a person', async () => {
    const scene = await openWatchedScene()
    await fill(scene, 'human-handoff-queue', 50)
    assert.equal(await watch(scene, ['HumanHandoff-Crowded'], 2), '..')
    await fill(scene, 'human-handoff-queue', 1)
    assert.equal(await watch(scene, ['HumanHandoff-Crowded'], 2), '!!')
    await take(scene, 'human-handoff-queue', 1)
    assert.equal(await watch(scene, ['HumanHandoff-Crowded'], 1), '.')
  })

  test('calls dead letters critical, and everything else a warning', async () => {
    const { endpoint } = await openWatchedScene()
    const response = await fetch(`${endpoint}/alarms`)
    const { alarms } = JSON.parse(await response.text())
    for (const { name, severity } of alarms) {
      const expected = /DLQ-NotEmpty-dev$|-not-empty$/.test(name) ? 'critical' : 'warning'
      assert.equal(severity, expected, name)
    }
  })
})
