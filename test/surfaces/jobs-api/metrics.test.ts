/** Metrics over HTTP: for Prometheus, and in CloudWatch's words. */
import assert from 'node:assert/strict'
import { describe, onTestFinished, test } from 'vitest'
import type { Backend } from '../../../src/backends/backend.ts'
import { openSqlite } from '../../../src/backends/sqlite/index.ts'
import { type RunningServer, type ServeOptions, serve } from '../../../src/server.ts'
import { type VirtualClock, virtualPorts } from '../../../src/testing/virtual-clock.ts'
import { parsePrometheus, sampleOf } from '../../support/prometheus-parser.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'
import { collectingLogger, type LogLine } from '../../support/worker-scene.ts'
import { academy } from './academy.ts'
import { mountAcademy } from './mounted.ts'
import { type Answer, auth, type Call, callApi, keys } from './scene.ts'

const minute = 60_000

interface MetricScene {
  readonly server: RunningServer
  readonly backend: Backend
  readonly clock: VirtualClock
  get(path: string, call?: Call): Promise<Answer>
  send(queue: string, count: number): Promise<void>
}

/** A server on a clock that the test moves, and a second connection to its store. */
async function serveStore(options: ServeOptions = {}): Promise<MetricScene> {
  const folder = await temporaryFolder('metrics-api')
  const ports = virtualPorts()
  const server = await serve({ port: 0, data: folder.path, ports, ...options })
  const backend = await openSqlite({ file: folder.file('millrace.db'), ports })
  onTestFinished(async () => {
    await server.stop()
    await backend.close()
    await folder.remove()
  })
  return {
    server,
    backend,
    clock: ports.clock,
    get: (path, call = {}) => callApi(server.url, path, call),
    async send(queue, count) {
      const messages = Array.from({ length: count }, () => ({ body: 'x' }))
      await backend.send({ queue, messages })
    },
  }
}

async function openFlow({ flows }: Backend, id: string): Promise<void> {
  assert.ok(flows !== null)
  const opening = { units: [{ id: 'page' }], sealed: true, keepMs: 60 * minute } as const
  await flows.open({ flow: 'scans', id, onUnitFailure: 'wait', ...opening })
}

describe('metrics for Prometheus', () => {
  test('are there without an app, in its own format', async () => {
    const { backend, get, send } = await serveStore()
    await backend.createQueue({ queue: 'orders' })
    await send('orders', 3)
    await backend.receive({ queue: 'orders', max: 1 })
    const { status, headers, text } = await get('/metrics')
    assert.equal(status, 200)
    assert.equal(headers.get('content-type'), 'text/plain; version=0.0.4; charset=utf-8')
    const families = parsePrometheus(text)
    const ofQueue = { queue: 'orders' }
    const messages = (state: string): number | undefined =>
      sampleOf(families, 'millrace_queue_messages', { ...ofQueue, state })
    assert.deepEqual(['visible', 'in_flight', 'delayed'].map(messages), [2, 1, 0])
    assert.equal(sampleOf(families, 'millrace_messages_sent_total', ofQueue), 3)
    assert.equal(sampleOf(families, 'millrace_messages_received_total', ofQueue), 1)
    assert.equal(sampleOf(families, 'millrace_queues'), 1)
  })

  test('have the age of the oldest message in seconds', async () => {
    const { backend, clock, get, send } = await serveStore()
    await backend.createQueue({ queue: 'orders' })
    await send('orders', 1)
    await clock.advance(90_500)
    const families = parsePrometheus((await get('/metrics')).text)
    const name = 'millrace_queue_oldest_message_age_seconds'
    assert.equal(sampleOf(families, name, { queue: 'orders' }), 90.5)
  })

  test('go on where they were when the server starts anew', async () => {
    const folder = await temporaryFolder('metrics-restart')
    onTestFinished(() => folder.remove())
    const sent: (number | undefined)[] = []
    for (let round = 0; round < 2; round += 1) {
      const server = await serve({ port: 0, data: folder.path })
      const backend = await openSqlite({ file: folder.file('millrace.db') })
      await backend.createQueue({ queue: 'q' })
      await backend.send({ queue: 'q', messages: [{ body: 'x' }] })
      const { text } = await callApi(server.url, '/metrics', {})
      sent.push(sampleOf(parsePrometheus(text), 'millrace_messages_sent_total', { queue: 'q' }))
      await backend.close()
      await server.stop()
    }
    assert.deepEqual(sent, [1, 2])
  })

  test('sum up queues when there are more than two hundred, unless each is asked for', async () => {
    const { backend, get, send } = await serveStore()
    const create = (index: number): Promise<unknown> => backend.createQueue({ queue: `q${index}` })
    await Promise.all(Array.from({ length: 200 }, (_, index) => create(index)))
    await send('q0', 2)
    await send('q1', 3)
    const name = 'millrace_messages_sent_total'
    const few = parsePrometheus((await get('/metrics')).text)
    assert.equal(few.get(name)?.samples.length, 200)
    await create(200)
    const many = parsePrometheus((await get('/metrics')).text)
    assert.deepEqual(many.get(name)?.samples, [{ name, labels: {}, value: 5 }])
    const visible = { state: 'visible' }
    assert.equal(sampleOf(many, 'millrace_queue_messages', visible), 5)
    assert.equal(sampleOf(many, 'millrace_queues'), 201)
    const each = parsePrometheus((await get('/metrics/per-queue')).text)
    assert.equal(each.get(name)?.samples.length, 201)
    assert.equal(sampleOf(each, name, { queue: 'q1' }), 3)
  })

  test('tell of flows, inboxes, alarms and schedules', async () => {
    const { backend, clock, get, send } = await serveStore()
    await backend.createQueue({ queue: 'client' })
    await send('client', 2)
    await clock.advance(30_000)
    await backend.inboxes?.claim({ queue: 'client', by: 'ada' })
    for (const id of ['one', 'two']) await openFlow(backend, id)
    await backend.flows?.cancel({ flow: 'scans', id: 'two' })
    const families = parsePrometheus((await get('/metrics')).text)
    assert.equal(sampleOf(families, 'millrace_flows_open', { flow: 'scans' }), 1)
    assert.equal(sampleOf(families, 'millrace_flows_overdue', { flow: 'scans' }), 0)
    assert.equal(sampleOf(families, 'millrace_inbox_waiting', { queue: 'client' }), 1)
    assert.equal(sampleOf(families, 'millrace_inbox_oldest_age_seconds', { queue: 'client' }), 30)
    assert.equal(sampleOf(families, 'millrace_alarms', { state: 'ALARM' }), 0)
    assert.equal(sampleOf(families, 'millrace_schedules', { state: 'active' }), 0)
  })

  test('tell of values of an app and of its janitor, whatever their names are', async () => {
    const { backend, clock, get } = await serveStore()
    const name = 'shop-dev-a "quoted\\"\nname'
    const put = (value: number): Promise<void> | undefined =>
      backend.metrics?.report({ queues: [], values: [{ name, value }] })
    await put(-4)
    await clock.advance(30_000)
    await put(1.5)
    const noted = clock.now()
    const janitor = { name: 'shop-dev-janitor_stuck_pending', value: 3 }
    await backend.metrics?.report({ queues: [], values: [janitor] })
    const families = parsePrometheus((await get('/metrics')).text)
    assert.equal(sampleOf(families, 'millrace_value', { name }), 1.5)
    assert.equal(sampleOf(families, 'millrace_value_timestamp_seconds', { name }), noted / 1_000)
    assert.equal(sampleOf(families, 'millrace_values_sum', { name }), -2.5)
    assert.equal(sampleOf(families, 'millrace_values_count', { name }), 2)
    assert.equal(sampleOf(families, 'millrace_value', { name: janitor.name }), 3)
  })

  test('have a bounded number of series for values', async () => {
    const { backend, get } = await serveStore()
    const values = Array.from({ length: 1_000 }, (_, index) => ({ name: `n${index}`, value: 1 }))
    await backend.metrics?.report({ queues: [], values })
    await assert.rejects(async () =>
      backend.metrics?.report({ queues: [], values: [{ name: 'one more', value: 1 }] }),
    )
    const families = parsePrometheus((await get('/metrics')).text)
    assert.equal(families.get('millrace_value')?.samples.length, 1_000)
    assert.equal(sampleOf(families, 'millrace_value', { name: 'one more' }), undefined)
  })

  test('are read by a Prometheus that sends a bearer token, and nobody logs it', async () => {
    const lines: LogLine[] = []
    const { get } = await serveStore({ app: academy, auth, log: collectingLogger(lines) })
    const headers = { authorization: `Bearer ${keys.admin}` }
    assert.equal((await get('/metrics', { headers })).status, 200)
    assert.equal((await get('/switches', { headers })).status, 200)
    assert.deepEqual(
      lines.filter(({ message }) => message === 'request').map(({ fields }) => fields['route']),
      ['/switches'],
    )
  })

  test('are kept from web pages when there are no credentials', async () => {
    const { get } = await serveStore()
    const foreign = await get('/metrics', { headers: { origin: 'https://elsewhere.test' } })
    assert.equal(foreign.status, 403)
  })

  test('are part of an API that is mounted elsewhere', async () => {
    const { call, enqueue } = await mountAcademy()
    await enqueue()
    const { text } = await call('/metrics', { key: keys.admin })
    const labels = { queue: 'academy-dev-basic' }
    assert.equal(sampleOf(parsePrometheus(text), 'millrace_messages_sent_total', labels), 1)
  })
})

describe("a queue's metrics in CloudWatch's words", () => {
  async function withMinutes(): Promise<MetricScene> {
    const scene = await serveStore({ app: academy, auth })
    const queue = 'academy-dev-video'
    for (const count of [1, 2, 3]) {
      await scene.send(queue, count)
      await scene.clock.advance(minute)
    }
    return scene
  }

  test('are values with their times, for each metric', async () => {
    const { get, clock } = await withMinutes()
    const { status, body } = await get('/queues/video/metrics', { key: keys.admin })
    assert.equal(status, 200)
    assert.equal(body.queue, 'video')
    const [sent] = body.metric_data_results.filter(
      ({ label }: { label: string }) => label === 'NumberOfMessagesSent',
    )
    const start = clock.now() - 3 * minute
    assert.deepEqual(sent, {
      label: 'NumberOfMessagesSent',
      statistic: 'Sum',
      unit: 'Count',
      period: 60,
      timestamps: [0, 1, 2].map((index) => new Date(start + index * minute).toISOString()),
      values: [1, 2, 3],
    })
  })

  test('are those of one metric, statistic, period and span', async () => {
    const { get, clock } = await withMinutes()
    const from = new Date(clock.now() - 2 * minute).toISOString()
    const query = `metric=ApproximateNumberOfMessagesVisible&statistic=Minimum&period=300&from=${from}`
    const path = `/queues/academy-dev-video/metrics?${query}`
    const { body } = await get(path, { key: keys.admin })
    const [result, ...others] = body.metric_data_results
    assert.deepEqual(others, [])
    assert.deepEqual([result.statistic, result.period, result.values], ['Minimum', 300, [3]])
  })

  test.each([
    ['period=90', 'period'],
    ['period=0', 'period'],
    ['metric=Depth', 'metric'],
    ['statistic=p99', 'statistic'],
    ['from=yesterday', 'from'],
    ['from=1767225600000', 'from'],
    ['to=2026-01-01T00:00:00Z', 'from'],
    ['from=2026-01-02T00:00:00Z&to=2026-01-01T00:00:00Z', 'to'],
    ['unit=Count', 'unit'],
  ])('are refused for %s', async (query, field) => {
    const { get } = await serveStore({ app: academy, auth })
    const { status, body } = await get(`/queues/video/metrics?${query}`, { key: keys.admin })
    assert.equal(status, 400)
    assert.deepEqual(
      [...new Set(body.errors.map((error: { field: string }) => error.field))],
      [field],
    )
  })

  test('are not there for a queue that is not', async () => {
    const { get } = await serveStore({ app: academy, auth })
    const { status, body } = await get('/queues/nowhere/metrics', { key: keys.admin })
    assert.deepEqual([status, body.code], [404, 'not_found'])
  })
})
