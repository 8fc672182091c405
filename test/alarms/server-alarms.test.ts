/** A server watches all alarms of its store: of stacks, of apps, and of dead letters nobody thought of. */
import assert from 'node:assert/strict'
import { writeFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { isDeepStrictEqual } from 'node:util'
import { describe, onTestFinished, test } from 'vitest'
import { type Mill, open } from '../../src/app/open.ts'
import type { Backend } from '../../src/backends/backend.ts'
import { openSqlite } from '../../src/backends/sqlite/index.ts'
import type { AlarmState } from '../../src/core/alarm-rule.ts'
import { type App, alarm, defineApp, queue } from '../../src/index.ts'
import { serve } from '../../src/server.ts'
import { bringUp, planUp, readSources } from '../../src/stacks/bring-up.ts'
import { type VirtualClock, virtualPorts } from '../../src/testing/virtual-clock.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { collectingLogger, type LogLine, withTime } from '../support/worker-scene.ts'
import { minute, second } from './alarm-scene.ts'

type ShownAlarm = readonly [name: string, owner: string, state: AlarmState]

interface ServerScene {
  readonly backend: Backend
  readonly clock: VirtualClock
  readonly lines: readonly LogLine[]
  readonly data: string
  /** Name, owner and state of each alarm, as the server shows them. */
  alarms(): Promise<readonly ShownAlarm[]>
  /** Waits for the alarms to be these: records of stacks are read from a disk, which has its own time. */
  shows(expected: readonly ShownAlarm[]): Promise<void>
  up(template: string): Promise<void>
  openShop(app?: App): Promise<Mill>
}

const turnsMax = 500

const fixture = fileURLToPath(
  new URL('../templates/fixtures/replies/template.yaml', import.meta.url),
)

const shop = defineApp('shop', {
  queues: { orders: queue({ deadLetter: {} }) },
  alarms: [alarm.dead('orders').above(3)],
})

/** A template with one alarm, on the depth of the dead letters of the shop. */
function stackWith(name: string): string {
  const properties = `{ AlarmName: ${name}, Namespace: AWS/SQS, Statistic: Maximum, Period: 60,
    MetricName: ApproximateNumberOfMessagesVisible, EvaluationPeriods: 1, Threshold: 0,
    ComparisonOperator: GreaterThanThreshold, TreatMissingData: notBreaching,
    Dimensions: [{ Name: QueueName, Value: shop-dev-orders-dlq }] }`
  return `Resources: {
    Q: { Type: AWS::SQS::Queue, Properties: { QueueName: shop-dev-orders-dlq } },
    A: { Type: AWS::CloudWatch::Alarm, Properties: ${properties} } }`
}

async function serverScene(): Promise<ServerScene> {
  const folder = await temporaryFolder('server-alarms')
  const ports = virtualPorts()
  const { clock } = ports
  const lines: LogLine[] = []
  const log = collectingLogger(lines)
  const server = await serve({ port: 0, data: folder.path, ports, log })
  const backend = await openSqlite({ file: folder.file('millrace.db'), ports })
  const closing: (() => Promise<void>)[] = []
  // What is evaluated five seconds after a minute is there when a test looks.
  await clock.advance(10 * second)
  onTestFinished(async () => {
    for (const close of closing) await close()
    await withTime(clock, server.stop())
    await backend.close()
    await folder.remove()
  })
  const alarms = async (): Promise<readonly ShownAlarm[]> => {
    const response = await fetch(`${server.url}/alarms`)
    const shown: { alarms: { name: string; owner: string; state: AlarmState }[] } = JSON.parse(
      await response.text(),
    )
    return shown.alarms.map(({ name, owner, state }) => [name, owner, state])
  }
  return {
    backend,
    clock,
    lines,
    data: folder.path,
    alarms,
    async shows(expected) {
      for (let turn = 0; turn < turnsMax; turn += 1) {
        if (isDeepStrictEqual(await alarms(), expected)) return
      }
      assert.deepEqual(await alarms(), expected)
    },
    async up(template) {
      const place = { region: 'us-east-1', account: '000000000000', environment: {} }
      const sources = await readSources([template], { ...place, endpoint: server.url })
      const planned = await planUp({ backend, sources })
      assert.equal(planned.hasErrors, false)
      await bringUp(backend, planned)
    },
    async openShop(app = shop) {
      const mill = await open(app, { backend, ports, log })
      closing.push(() => withTime(clock, mill.close()))
      return mill
    },
  }
}

describe('a server', () => {
  test('evaluates the alarms of a template that went up unchanged', async () => {
    const { backend, clock, shows, up, lines } = await serverScene()
    await up(fixture)
    await clock.advance(2 * minute)
    const name = 'ai-multi-comms-TriggerDelayDLQ-NotEmpty-dev'
    const dlq = 'ai-multi-comms-trigger-delay-dlq-dev'
    await shows([[name, 'stacks', 'OK']])
    await backend.send({ queue: dlq, messages: [{ body: 'dead' }] })
    await clock.advance(minute)
    await shows([[name, 'stacks', 'ALARM']])
    await backend.purgeQueue({ queue: dlq })
    await clock.advance(minute)
    await shows([[name, 'stacks', 'OK']])
    assert.deepEqual(
      lines.filter(({ message }) => message.startsWith('alarm')).map(({ level }) => level),
      ['info', 'error', 'info'],
    )
  })

  test('watches every dead-letter queue, whoever made it, for as long as it is one', async () => {
    const { backend, clock, shows } = await serverScene()
    await backend.createQueue({ queue: 'failed' })
    const deadLetter = { queue: 'failed', maxReceives: 3 }
    await backend.createQueue({ queue: 'work', settings: { deadLetter } })
    await backend.send({ queue: 'failed', messages: [{ body: 'dead' }] })
    await clock.advance(2 * minute)
    const owner = 'unwatched dead letters'
    await shows([['failed-not-empty', owner, 'ALARM']])
    await backend.changeQueue({ queue: 'work', changes: { deadLetter: null } })
    await clock.advance(minute)
    await shows([])
    await backend.changeQueue({ queue: 'work', changes: { deadLetter } })
    await clock.advance(minute)
    await shows([['failed-not-empty', owner, 'ALARM']])
    await backend.deleteQueue({ queue: 'work' })
    await backend.deleteQueue({ queue: 'failed' })
    await clock.advance(minute)
    await shows([])
  })

  test('leaves dead letters alone that an app watches in its own way', async () => {
    const { backend, clock, shows, openShop } = await serverScene()
    await openShop()
    await clock.advance(2 * minute)
    await shows([['shop-dev-orders-dlq-dead-letters', 'app shop dev', 'OK']])
    const messages = Array.from({ length: 4 }, () => ({ body: 'dead' }))
    await backend.send({ queue: 'shop-dev-orders-dlq', messages })
    await clock.advance(minute)
    await shows([['shop-dev-orders-dlq-dead-letters', 'app shop dev', 'ALARM']])
  })

  test('rings once for a dead letter that the alarm of a stack watches', async () => {
    const { backend, clock, shows, openShop, up, data } = await serverScene()
    await openShop(defineApp('shop', { queues: { orders: queue({ deadLetter: {} }) } }))
    await clock.advance(2 * minute)
    await shows([['shop-dev-orders-dlq-not-empty', 'app shop dev', 'OK']])
    const file = `${data}/template.yaml`
    await writeFile(file, stackWith('lost'))
    await up(file)
    await backend.send({ queue: 'shop-dev-orders-dlq', messages: [{ body: 'dead' }] })
    await clock.advance(3 * minute)
    await shows([['lost', 'stacks', 'ALARM']])
  })

  test('ends the alarm of an app that makes way for one of a stack while it rings', async () => {
    const { backend, clock, shows, openShop, up, data, lines } = await serverScene()
    const mill = await openShop(
      defineApp('shop', { queues: { orders: queue({ deadLetter: {} }) } }),
    )
    await backend.send({ queue: 'shop-dev-orders-dlq', messages: [{ body: 'dead' }] })
    await clock.advance(2 * minute)
    await shows([['shop-dev-orders-dlq-not-empty', 'app shop dev', 'ALARM']])
    const file = `${data}/template.yaml`
    await writeFile(file, stackWith('lost'))
    await up(file)
    await clock.advance(3 * minute)
    await shows([['lost', 'stacks', 'ALARM']])
    const { items } = await mill.alarms.history({ alarm: 'shop-dev-orders-dlq-not-empty' })
    const [end] = items
    assert.deepEqual([end?.from, end?.to], ['ALARM', 'OK'])
    assert.match(end?.reason ?? '', /left to another alarm/)
    const told = lines.filter(({ fields }) => fields['alarm'] === 'shop-dev-orders-dlq-not-empty')
    assert.deepEqual([told.at(-1)?.message, told.at(-1)?.fields['was']], ['alarm OK', 'ALARM'])
  })

  test('keeps the alarm of an app beside one of a stack that would tell nobody', async () => {
    const { clock, shows, openShop, up, data } = await serverScene()
    const file = `${data}/template.yaml`
    await writeFile(file, stackWith('lost'))
    await up(file)
    const queues = { orders: queue({ deadLetter: {} }), events: queue() }
    await openShop(defineApp('shop', { queues, alarmActions: [{ queue: 'events' }] }))
    await clock.advance(3 * minute)
    await shows([
      ['lost', 'stacks', 'OK'],
      ['shop-dev-orders-dlq-not-empty', 'app shop dev', 'OK'],
    ])
  })

  test('takes the alarm of a stack up again when the one that went before it is gone', async () => {
    const { backend, clock, shows, up, data } = await serverScene()
    const { alarms } = backend
    assert.ok(alarms !== null)
    const file = `${data}/template.yaml`
    await writeFile(file, stackWith('lost'))
    await up(file)
    await clock.advance(2 * minute)
    const rule = (await alarms.alarmStates({ prefix: 'lost' }))[0]?.rule
    assert.ok(rule !== undefined)
    const owner = 'app shop dev'
    await alarms.declareAlarms({ owner, rules: [rule] })
    await clock.advance(minute)
    await shows([['lost', owner, 'OK']])
    await alarms.declareAlarms({ owner, rules: [] })
    await clock.advance(minute)
    await shows([['lost', 'stacks', 'OK']])
  })

  test('forgets what a later version of a template has not any more', async () => {
    const { clock, shows, up, data } = await serverScene()
    const file = `${data}/template.yaml`
    const queues = 'Resources: { A: { Type: AWS::SQS::Queue, Properties: { QueueName: a } }'
    const properties = `{ AlarmName: deep, Namespace: AWS/SQS, Statistic: Sum, Period: 60,
      MetricName: NumberOfMessagesSent, EvaluationPeriods: 1, Threshold: 5,
      ComparisonOperator: LessThanThreshold, Tags: [{ Key: severity, Value: critical }],
      Dimensions: [{ Name: QueueName, Value: a }] }`
    const alarm = `B: { Type: AWS::CloudWatch::Alarm, Properties: ${properties} }`
    await writeFile(file, `${queues}, ${alarm} }`)
    await up(file)
    await clock.advance(2 * minute)
    await shows([['deep', 'stacks', 'ALARM']])
    await writeFile(file, `${queues} }`)
    await up(file)
    await clock.advance(minute)
    await shows([])
  })

  test('goes on watching when the record of a stack cannot be read, and says so', async () => {
    const { backend, clock, shows, up, openShop, lines } = await serverScene()
    await openShop()
    await up(fixture)
    await clock.advance(2 * minute)
    const [record] = (await backend.stacks?.list()) ?? []
    await backend.stacks?.write({ stack: record?.stack ?? '', document: '{ broken' })
    const messages = Array.from({ length: 4 }, () => ({ body: 'dead' }))
    await backend.send({ queue: 'shop-dev-orders-dlq', messages })
    await backend.createQueue({ queue: 'failed' })
    const deadLetter = { queue: 'failed', maxReceives: 3 }
    await backend.createQueue({ queue: 'work', settings: { deadLetter } })
    await clock.advance(2 * minute)
    await shows([
      ['ai-multi-comms-TriggerDelayDLQ-NotEmpty-dev', 'stacks', 'OK'],
      ['failed-not-empty', 'unwatched dead letters', 'OK'],
      ['shop-dev-orders-dlq-dead-letters', 'app shop dev', 'ALARM'],
    ])
    const failed = lines.find(({ fields }) => fields['service'] === 'alarm watch')
    assert.equal(failed?.message, 'maintenance service failed')
  })
})
