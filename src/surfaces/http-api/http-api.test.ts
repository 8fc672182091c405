import assert from 'node:assert/strict'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterEach, describe, test } from 'vitest'
import { MillraceError } from '../../core/millrace-error.ts'
import { systemPorts } from '../../core/ports.ts'
import { createAlarms } from '../../operations/alarms/alarms.ts'
import { createBudgets } from '../../operations/budgets.ts'
import { createInbox } from '../../operations/inbox.ts'
import { createMetricReader } from '../../operations/metrics/metrics.ts'
import { createJobReports } from '../../worker/job-reports.ts'
import { httpApi } from './http-api.ts'

let server: Server

afterEach(() => server.close())

async function readyz(ready: () => Promise<void>, stopping = new AbortController().signal) {
  const inbox = (name: string) => createInbox({ backend: { inboxes: null }, name })
  const nowhere = { metrics: null, flows: null, inboxes: null, alarms: null, schedules: null }
  const metrics = createMetricReader({ backend: nowhere, clock: systemPorts.clock })
  const readQueue = () => Promise.reject(new MillraceError('queue_not_found'))
  const alarms = createAlarms({ backend: { ...nowhere, readQueue } })
  const none = async () => []
  const api = httpApi({
    ready,
    stopping,
    mill: null,
    reports: createJobReports({
      backend: { jobs: null, readQueue, leaseStates: none, extend: none, settle: none },
      ports: systemPorts,
      find: () => undefined,
    }),
    inbox,
    metrics,
    alarms,
    budgets: createBudgets({ backend: { budgets: null } }),
    isPublic: false,
    ports: systemPorts,
  })
  server = createServer(api.answer)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  const response = await fetch(`http://127.0.0.1:${port}/readyz`)
  return { status: response.status, body: await response.json() }
}

describe('the readiness of a server', () => {
  test('is given when the store can be used', async () => {
    assert.deepEqual(await readyz(async () => {}), { status: 200, body: { status: 'ok' } })
  })

  test('names the reason when the store cannot be used', async () => {
    const error = new MillraceError('store_full')
    assert.deepEqual(await readyz(() => Promise.reject(error)), {
      status: 503,
      body: { status: 'unavailable', error: { code: error.code, message: error.message } },
    })
  })

  test('keeps what others say about the store to itself', async () => {
    const { status, body } = await readyz(() => Promise.reject(new Error('secret path')))
    assert.equal(status, 503)
    assert.ok(!JSON.stringify(body).includes('secret'))
  })

  test('ends when the server begins to stop', async () => {
    const { status, body } = await readyz(async () => {}, AbortSignal.abort())
    assert.equal(status, 503)
    assert.equal((body as { error: { code: string } }).error.code, 'stopping')
  })
})
