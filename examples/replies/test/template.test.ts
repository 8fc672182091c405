/** template.yaml matches the specification, and the app matches template.yaml. */
import assert from 'node:assert/strict'
import { beforeAll, describe, test } from 'vitest'
import {
  type ReadTemplate,
  readTemplate,
  resolveQueues,
  type Stack,
} from '../../shared/not-public.ts'
import { repliesApp } from '../app.ts'
import { template as file } from '../demo/replies-system.ts'
import { openFixture } from './fixture.ts'

function read(parameters: Readonly<Record<string, string>> = {}): Promise<ReadTemplate> {
  return readTemplate({
    ...{ file, parameters, environment: {} },
    ...{ region: 'us-east-1', account: '000000000000', endpoint: 'http://localhost:4566' },
  })
}

let template: ReadTemplate
let stack: Stack
beforeAll(async () => {
  template = await read()
  assert.ok(template.stack !== null, JSON.stringify(template.problems))
  stack = template.stack
})

const day = 86_400
const dead = { visibility: 30, retention: 14 * day, target: null }
const channel = (name: string) =>
  ({ visibility: 300, retention: 4 * day, target: `${name}-target-dlq` }) as const

/** As specified. */
const queues = {
  'trigger-delay-queue': { visibility: 905, retention: 4 * day, target: 'trigger-delay-dlq' },
  'trigger-delay-dlq': dead,
  'whatsapp-target-queue': channel('whatsapp'),
  'whatsapp-target-dlq': dead,
  'sms-target-queue': channel('sms'),
  'sms-target-dlq': dead,
  'email-target-queue': channel('email'),
  'email-target-dlq': dead,
  'human-handoff-queue': { visibility: 3_600, retention: 7 * day, target: null },
} as const

describe('the template', () => {
  test('is read without warnings', () => {
    assert.deepEqual(template.problems, [])
  })

  test('declares nine queues', () => {
    const names = stack.queues.map(({ name }) => name)
    assert.deepEqual(
      names.sort(),
      Object.keys(queues)
        .map((name) => `ai-multi-comms-${name}-dev`)
        .sort(),
    )
  })

  test.each(Object.entries(queues))('declares %s', (name, { visibility, retention, target }) => {
    const queue = stack.queues.find((one) => one.name === `ai-multi-comms-${name}-dev`)
    const { settings } = queue ?? {}
    assert.equal(settings?.visibilityMs ?? 30_000, visibility * 1_000)
    assert.equal(settings?.retentionMs, retention * 1_000)
    assert.equal(settings?.delayMs ?? 0, 0)
    const deadLetter =
      target === null ? null : { queue: `ai-multi-comms-${target}-dev`, maxReceives: 3 }
    assert.deepEqual(settings?.deadLetter ?? null, deadLetter)
  })

  test('takes the project and the environment as parameters', async () => {
    const { stack: prod } = await read({ ProjectPrefix: 'acme', EnvironmentName: 'prod' })
    for (const { name } of [...(prod?.queues ?? []), ...(prod?.alarms ?? [])]) {
      assert.match(name, /^acme-.+-prod$/)
    }
    assert.equal(prod?.alarms.length, 20)
  })

  test('has the specified alarms on every queue', () => {
    const visible = 'ApproximateNumberOfMessagesVisible'
    const watched = stack.alarms.map(({ queue, metric, statistic, ...alarm }) => {
      const { threshold, periodMs, evaluationPeriods, treatMissingData, comparison } = alarm
      assert.deepEqual([comparison, periodMs], ['GreaterThanThreshold', 60_000])
      assert.equal(treatMissingData, 'notBreaching')
      return [queue, metric, statistic, threshold, evaluationPeriods].join(' ')
    })
    const expected = Object.keys(queues).flatMap((name) => {
      const queue = `ai-multi-comms-${name}-dev`
      if (name.endsWith('-dlq')) return [`${queue} ${visible} Sum 0 1`]
      const oldest = name.startsWith('trigger') ? 600 : 3_600
      return [
        `${queue} ${visible} Maximum 100 5`,
        `${queue} ApproximateNumberOfMessagesNotVisible Maximum 50 10`,
        `${queue} ApproximateAgeOfOldestMessage Maximum ${oldest} 1`,
        ...(name.startsWith('human') ? [`${queue} ${visible} Maximum 50 1`] : []),
      ]
    })
    assert.deepEqual(watched.sort(), expected.sort())
  })
})

describe('the app', () => {
  test('declares the same queues as the template', () => {
    const { planned } = resolveQueues(repliesApp(), 'dev')
    const inApp = planned.map(({ queue, settings: { visibilityMs, retentionMs, deadLetter } }) => [
      queue,
      { visibilityMs, retentionMs, deadLetter },
    ])
    const inTemplate = stack.queues.map(({ name, settings }) => [
      name,
      {
        // Settings that the template leaves out have the SQS defaults.
        visibilityMs: settings.visibilityMs ?? 30_000,
        retentionMs: settings.retentionMs,
        deadLetter: settings.deadLetter ?? null,
      },
    ])
    assert.deepEqual(Object.fromEntries(inApp), Object.fromEntries(inTemplate))
  })

  test('opens on the deployed stack and changes nothing', async () => {
    const { backend, lines } = await openFixture()
    for (const { name, settings } of stack.queues) {
      const queue = await backend.readQueue({ queue: name })
      for (const [key, value] of Object.entries(settings)) {
        assert.deepEqual(Object(queue?.settings)[key], value, `${key} of ${name}`)
      }
    }
    assert.deepEqual(
      lines.filter(({ level }) => level !== 'info' && level !== 'debug'),
      [],
    )
  })
})
