/** Alarms over HTTP: what operators see, and the fire drill. */
import assert from 'node:assert/strict'
import { describe, test } from 'vitest'
import { alarm, defineApp, open, queue } from '../../../src/index.ts'
import { createJobsApi } from '../../../src/server.ts'
import { virtualPorts } from '../../../src/testing/virtual-clock.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'
import { keys, serveAcademy } from './scene.ts'

const shop = defineApp('shop', {
  queues: { orders: queue({ deadLetter: {} }), events: queue() },
  alarms: [
    alarm.depth('orders').atOrAbove(10, {
      name: 'orders/pile up',
      description: 'Too many orders.',
      period: '5m',
      evaluationPeriods: 3,
      datapointsToAlarm: 2,
      actions: [{ webhook: 'https://hooks.example.com/a-secret' }, { queue: 'events' }],
    }),
  ],
})

const piling = '/alarms/shop-dev-orders%2Fpile%20up'

const operator = { key: keys.operator }

describe('the alarms of a served app', () => {
  test('are listed with their states, in CloudWatch’s words', async () => {
    const { call } = await serveAcademy({ app: shop })
    const { status, body } = await call('/alarms', operator)
    assert.equal(status, 200)
    assert.deepEqual(
      body.alarms.map(({ name }: { name: string }) => name),
      ['shop-dev-orders-dlq-not-empty', 'shop-dev-orders/pile up'],
    )
    const { since, reason, ...shown } = body.alarms[1]
    assert.match(since, /^\d{4}-.*Z$/)
    assert.equal(reason, 'Declared; not evaluated yet.')
    assert.deepEqual(shown, {
      name: 'shop-dev-orders/pile up',
      state: 'INSUFFICIENT_DATA',
      severity: 'warning',
      evaluated_at: null,
      owner: 'app shop dev',
      description: 'Too many orders.',
      namespace: 'AWS/SQS',
      metric: 'ApproximateNumberOfMessagesVisible',
      of: 'shop-dev-orders',
      statistic: 'Maximum',
      period_seconds: 300,
      evaluation_periods: 3,
      datapoints_to_alarm: 2,
      threshold: 10,
      comparison: 'GreaterThanOrEqualToThreshold',
      treat_missing_data: 'missing',
      condition: 'depth at or above 10, 2 of 3 periods of 5m',
      // The path of a webhook is often a secret.
      actions: [
        { kind: 'webhook', target: 'https://hooks.example.com', on: ['ALARM', 'OK'] },
        { kind: 'queue', target: 'shop-dev-events', on: ['ALARM', 'OK'] },
      ],
    })
  })

  test('are read one by one, by state, and with their past', async () => {
    const { call } = await serveAcademy({ app: shop })
    const dlq = '/alarms/shop-dev-orders-dlq-not-empty'
    assert.equal((await call(dlq, operator)).body.severity, 'critical')
    const body = { state: 'ALARM', reason: 'drill' }
    const tested = await call(`${dlq}/state`, { ...operator, method: 'POST', body })
    assert.deepEqual(
      [tested.status, tested.body.state, tested.body.reason],
      [200, 'ALARM', 'Set by client: drill'],
    )
    const raised = await call('/alarms?state=ALARM', operator)
    assert.deepEqual(
      raised.body.alarms.map(({ name }: { name: string }) => name),
      ['shop-dev-orders-dlq-not-empty'],
    )
    const { body: page } = await call(`${dlq}/history?limit=1`, operator)
    assert.deepEqual(
      page.changes.map(({ at, ...change }: { at: string }) => change),
      [
        {
          alarm: 'shop-dev-orders-dlq-not-empty',
          from: 'INSUFFICIENT_DATA',
          to: 'ALARM',
          reason: 'Set by client: drill',
        },
      ],
    )
    assert.equal(page.next, null)
    assert.deepEqual((await call(`${piling}/history`, operator)).body.changes, [])
  })

  test.each([
    ['GET', '/alarms?state=RED', undefined, 400, 'state'],
    ['GET', '/alarms?stat=ALARM', undefined, 400, 'stat'],
    ['GET', '/alarms/nothing', undefined, 404, undefined],
    ['GET', '/alarms/nothing/history', undefined, 404, undefined],
    ['GET', `${piling}/history?limit=0`, undefined, 400, 'limit'],
    ['POST', `${piling}/state`, { state: 'RED' }, 400, 'state'],
    ['POST', `${piling}/state`, {}, 400, 'state'],
    ['POST', `${piling}/state`, { state: 'OK', by: 'me' }, 400, 'by'],
    ['POST', `${piling}/state`, { state: 'OK', reason: 'x'.repeat(2_000) }, 400, 'reason'],
    ['POST', '/alarms/nothing/state', { state: 'OK' }, 404, undefined],
  ])('are asked for wrongly: %s %s %j', async (method, path, body, status, field) => {
    const { call } = await serveAcademy({ app: shop })
    const answer = await call(path, { ...operator, method, ...(body && { body }) })
    assert.equal(answer.status, status, answer.text)
    assert.equal(answer.body.errors?.[0].field, field)
  })
})

describe('a mounted API', () => {
  test('knows the alarms of its app, and no others', async () => {
    const folder = await temporaryFolder('alarms-api')
    const ports = virtualPorts()
    const other = await open(defineApp('other', shop), { data: folder.path, ports })
    const mill = await open(shop, { data: folder.path, ports })
    const { fetch } = createJobsApi(mill, { auth: 'none', ports })
    const ask = async (path: string): Promise<Response> => fetch(new Request(`http://a${path}`))
    const document: unknown = await (await ask('/alarms')).json()
    assert.equal((document as { readonly alarms: readonly unknown[] }).alarms.length, 2)
    assert.equal((await ask('/alarms/other-dev-orders-dlq-not-empty')).status, 404)
    await mill.close()
    await other.close()
    await folder.remove()
  })
})
