import assert from 'node:assert/strict'
import { describe, onTestFinished, test } from 'vitest'
import type { Backend, Delivery } from '../../src/backends/backend.ts'
import { openPostgres } from '../../src/backends/postgres/index.ts'
import { memoryFile, openSqlite } from '../../src/backends/sqlite/index.ts'
import type { LostAttempt } from '../../src/core/lost-attempt.ts'
import { type VirtualPorts, virtualPorts } from '../../src/testing/virtual-clock.ts'
import { freshDatabase } from '../services/fresh-database.ts'

const queue = 'scans'
const leaseMs = 30_000
const error = 'The lease ended before the attempt was settled.'

interface Listening {
  readonly ports: VirtualPorts
  readonly onAttemptLost: (lost: LostAttempt) => void
}

const databases = {
  SQLite: (listening: Listening): Promise<Backend> =>
    openSqlite({ file: memoryFile, ...listening }),
  Postgres: async (listening: Listening): Promise<Backend> => {
    const { url } = await freshDatabase()
    return (await openPostgres({ url, usesPortsTime: true, ...listening })).backend
  },
}

describe.each(Object.entries(databases))('the listener for lost attempts on %s', (_, open) => {
  test('is called with each attempt of a job whose lease ended, when that is recorded', async () => {
    const { backend, lost, enqueue, claim, pass } = await listen(open)
    const id = await enqueue({ maxAttempts: 2, traceId: 'trace 1' })
    const known = { queue, type: 'OCR', id, maxAttempts: 2, traceId: 'trace 1', error }
    const { receipt: first } = await claim()
    await pass(leaseMs)
    assert.deepEqual(lost, [])
    const { receipt: second } = await claim()
    const times = { durationMs: leaseMs }
    const lostFirst = { ...known, ...times, attempt: 1, receipt: first, isLast: false }
    assert.deepEqual(lost, [lostFirst])
    await pass(leaseMs)
    assert.equal((await backend.jobs?.read({ id }))?.status, 'failed')
    const lostSecond = { ...known, ...times, attempt: 2, receipt: second, isLast: true }
    assert.deepEqual(lost, [lostFirst, lostSecond])
    const attempts = await backend.jobs?.attempts({ id })
    assert.deepEqual(
      attempts?.map(({ attempt, outcome, error }) => ({ attempt, outcome, error })),
      [1, 2].map((attempt) => ({ attempt, outcome: 'lapsed', error })),
    )
  })

  test('is called by the sweep, with all that were lost', async () => {
    const { backend, lost, enqueue, pass } = await listen(open)
    const ids = [await enqueue({}), await enqueue({}), await enqueue({})]
    await backend.receive({ queue, max: 10 })
    await pass(leaseMs)
    await backend.sweep()
    assert.deepEqual(lost.map(({ id }) => id).toSorted(), ids.toSorted())
  })

  test('is not called for attempts that were settled, for waits, or for plain messages', async () => {
    const { backend, lost, enqueue, claim, pass } = await listen(open)
    await enqueue({ maxAttempts: 5 })
    for (const outcome of [
      { kind: 'release' },
      { kind: 'retry', delayMs: 1_000, error: 'no paper' },
      { kind: 'acknowledge', result: '1' },
    ] as const) {
      const { receipt } = await claim()
      await backend.settle({ queue, settlements: [{ receipt, outcome }] })
      await pass(leaseMs)
    }
    await backend.send({ queue, messages: [{ body: 'plain' }] })
    await backend.receive({ queue, max: 1 })
    await pass(leaseMs)
    assert.equal((await backend.receive({ queue, max: 1 })).length, 1)
    assert.deepEqual(lost, [])
  })
})

interface Listened {
  readonly backend: Backend
  readonly lost: readonly LostAttempt[]
  enqueue(job: { readonly maxAttempts?: number; readonly traceId?: string }): Promise<string>
  claim(): Promise<Delivery>
  pass(ms: number): Promise<void>
}

async function listen(open: (listening: Listening) => Promise<Backend>): Promise<Listened> {
  const ports = virtualPorts()
  const lost: LostAttempt[] = []
  const backend = await open({ ports, onAttemptLost: (attempt) => void lost.push(attempt) })
  onTestFinished(() => backend.close())
  await backend.createQueue({ queue, settings: { visibilityMs: leaseMs } })
  return {
    backend,
    lost,
    async enqueue(options) {
      const jobs = [{ type: 'OCR', payload: '1', ...options }]
      const [created] = (await backend.jobs?.enqueue({ queue, jobs })) ?? []
      return created?.id ?? assert.fail()
    },
    async claim() {
      const [delivery] = await backend.receive({ queue, max: 1 })
      return delivery ?? assert.fail('there is nothing to claim')
    },
    pass: (ms) => ports.clock.advance(ms),
  }
}
