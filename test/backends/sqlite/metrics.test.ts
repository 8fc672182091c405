/** Metrics of a store that several processes share, and of one with many queues. */
import assert from 'node:assert/strict'
import { describe, onTestFinished, test } from 'vitest'
import type { Backend } from '../../../src/backends/backend.ts'
import type { MetricStore, QueueMinute } from '../../../src/backends/metric-store.ts'
import { openSqlite } from '../../../src/backends/sqlite/index.ts'
import { type VirtualClock, virtualPorts } from '../../../src/testing/virtual-clock.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'

const minute = 60_000

interface Shared {
  readonly backends: readonly [Backend, Backend]
  readonly clock: VirtualClock
}

async function sharedStore(): Promise<Shared> {
  const folder = await temporaryFolder('metrics')
  const ports = virtualPorts()
  const open = (): Promise<Backend> => openSqlite({ file: folder.file('millrace.db'), ports })
  const backends = [await open(), await open()] as const
  onTestFinished(async () => {
    for (const backend of backends) await backend.close()
    await folder.remove()
  })
  return { backends, clock: ports.clock }
}

function metricsOf({ metrics }: Backend): MetricStore {
  assert.ok(metrics !== null)
  return metrics
}

function minutesOf(backend: Backend, queue: string): Promise<readonly QueueMinute[]> {
  return metricsOf(backend).minutes({ queue, from: 0, to: Date.UTC(2100, 0) })
}

async function send(backend: Backend, queue: string, count = 1): Promise<void> {
  const messages = Array.from({ length: count }, () => ({ body: 'x' }))
  await backend.send({ queue, messages })
}

describe('two processes on one store', () => {
  test('write each minute once, and what both did is in it', async () => {
    const { backends, clock } = await sharedStore()
    const [one, other] = backends
    await one.createQueue({ queue: 'q' })
    for (let round = 1; round <= 3; round += 1) {
      await send(one, 'q', round)
      await send(other, 'q')
      await clock.advance(minute)
      const reports = await Promise.all(backends.map((each) => metricsOf(each).sample()))
      assert.equal(reports.filter((report) => report.minute !== null).length, 1)
    }
    const sent = (await minutesOf(other, 'q')).map((each) => each.sent)
    assert.deepEqual(sent, [2, 3, 4])
  })

  test('count the empty receives of both, though one of them writes the minute', async () => {
    const { backends, clock } = await sharedStore()
    const [one, other] = backends
    await one.createQueue({ queue: 'q' })
    await one.receive({ queue: 'q', max: 1, waitMs: 0 })
    await other.receive({ queue: 'q', max: 1, waitMs: 0 })
    await metricsOf(other).report({ queues: [] })
    await clock.advance(minute)
    await metricsOf(one).sample()
    const [first] = await minutesOf(one, 'q')
    assert.equal(first?.emptyReceives, 2)
  })

  test('go on where another one stopped in the middle of a minute', async () => {
    const { backends, clock } = await sharedStore()
    const [one, other] = backends
    const names = Array.from({ length: 450 }, (_, index) => `q${String(index).padStart(3, '0')}`)
    for (const queue of names) {
      await one.createQueue({ queue })
      await send(one, queue)
    }
    await clock.advance(minute)
    const started = await metricsOf(one).sample()
    assert.equal(started.more, true, 'it takes more than one slice')
    let slices = 1
    let more = true
    while (more) {
      more = (await metricsOf(other).sample()).more
      slices += 1
    }
    assert.equal(slices, 5)
    for (const queue of names) {
      const minutes = await minutesOf(one, queue)
      assert.deepEqual(
        minutes.map(({ sent, ready }) => [sent, ready]),
        [[1, 1]],
        queue,
      )
    }
    assert.equal((await metricsOf(one).sample()).minute, null)
  })

  test('put what a slice was too late for into the next minute', async () => {
    const { backends, clock } = await sharedStore()
    const [one] = backends
    for (let index = 0; index < 250; index += 1) {
      await one.createQueue({ queue: `q${index}` })
      await send(one, `q${index}`)
    }
    await clock.advance(minute)
    await metricsOf(one).sample()
    await clock.advance(minute)
    while ((await metricsOf(one).sample()).more);
    const first = await minutesOf(one, 'q0')
    const last = await minutesOf(one, 'q249')
    assert.deepEqual(
      [first, last].map((minutes) => minutes.map(({ sent }) => sent)),
      [[1, 0], [1]],
    )
    assert.equal(last[0]?.minute, first[1]?.minute)
  })
})
