/** What handlers come to, from the worker to the minutes of the store and to Prometheus. */
import assert from 'node:assert/strict'
import { describe, onTestFinished, test } from 'vitest'
import { z } from 'zod'
import { openSqlite } from '../../src/backends/sqlite/index.ts'
import { MillraceError } from '../../src/core/millrace-error.ts'
import { defineApp, jobs, open, queue } from '../../src/index.ts'
import { virtualPorts } from '../../src/testing/virtual-clock.ts'
import { parsePrometheus, sampleOf } from '../support/prometheus-parser.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { gate, openScene, withTime } from '../support/worker-scene.ts'

const minute = 60_000

const press = defineApp('press', {
  queues: {
    pages: jobs({ types: { PRINT: z.object({ page: z.number() }) }, attempts: 2 }),
    mail: queue(),
  },
})

describe('the metrics of an open app', () => {
  test('have what handlers came to in each minute', async () => {
    const { mill, clock, until } = await openScene(press)
    const finished = gate()
    await mill.jobs.enqueue('pages', 'PRINT', { page: 1 })
    await clock.advance(400)
    const worker = mill.worker({
      poll: ['pages'],
      handle: { PRINT: () => finished.opened },
    })
    worker.start()
    await until('the handler runs', async () => (await mill.queues.pages.statistics()).leased === 1)
    await clock.advance(2_000)
    finished.open()
    await clock.advance(minute)
    const minutes = await mill.metrics.minutes('pages')
    const [first] = minutes
    assert.equal(minutes.length, 1)
    const { ended, failed, runs, waits } = first?.handlers ?? {}
    assert.deepEqual([ended, failed], [1, 0])
    assert.deepEqual([runs?.count, runs?.msSum, runs?.msMax], [1, 2_000, 2_000])
    assert.deepEqual([waits?.count, waits?.msSum], [1, 400])
    assert.deepEqual([first?.sent, first?.received, first?.acknowledged], [1, 1, 1])
  })

  test('tell errors from what went well', async () => {
    const { mill, clock } = await openScene(press)
    for (const page of [1, 2]) await mill.jobs.enqueue('pages', 'PRINT', { page })
    const worker = mill.worker({
      poll: ['pages'],
      handle: {
        PRINT: ({ page }) => {
          if (page === 2) throw new Error('no paper')
        },
      },
    })
    worker.start()
    await clock.advance(5 * minute)
    const text = await mill.metrics.prometheus()
    const families = parsePrometheus(text)
    const ofQueue = { queue: 'press-dev-pages' }
    const finished = (outcome: string): number | undefined =>
      sampleOf(families, 'millrace_jobs_finished_total', { ...ofQueue, outcome })
    assert.deepEqual([finished('completed'), finished('failed')], [1, 1])
    const attempts = { ...ofQueue, outcome: 'retried' }
    assert.equal(sampleOf(families, 'millrace_job_attempts_total', attempts), 1)
    assert.equal(sampleOf(families, 'millrace_attempts_failed_total', ofQueue), 2)
    assert.equal(sampleOf(families, 'millrace_job_run_seconds_count', ofQueue), 3)
    assert.equal(sampleOf(families, 'millrace_job_wait_seconds_count', ofQueue), 2)
  })

  test('lose nothing when the app closes, and go on counting when it opens again', async () => {
    const folder = await temporaryFolder('worker-metrics')
    const ports = virtualPorts()
    const { clock } = ports
    const backend = await openSqlite({ file: folder.file('millrace.db'), ports })
    onTestFinished(async () => {
      await backend.close()
      await folder.remove()
    })
    const printed: (number | undefined)[] = []
    for (let round = 0; round < 2; round += 1) {
      const mill = await open(press, { backend, ports })
      await mill.jobs.enqueue('pages', 'PRINT', { page: round })
      const worker = mill.worker({ poll: ['pages'], handle: { PRINT: () => undefined } })
      worker.start()
      await clock.advance(100)
      await withTime(clock, mill.close())
      const { items } = await (backend.metrics?.snapshot({ limit: 10 }) ?? { items: [] })
      const pages = items.find(({ queue: name }) => name === 'press-dev-pages')
      printed.push(pages?.handlers?.ended)
    }
    assert.deepEqual(printed, [1, 2])
  })

  test('keep what the store does not take until it does', async () => {
    let fails = true
    const { mill, clock, backend } = await openScene(press, {
      wrap: (store) => {
        const { metrics } = store
        assert.ok(metrics !== null)
        const report: typeof metrics.report = async (request) => {
          if (fails && request.queues.length > 0) throw new MillraceError('store_busy')
          return metrics.report(request)
        }
        return { ...store, metrics: { ...metrics, report } }
      },
    })
    await mill.jobs.enqueue('pages', 'PRINT', { page: 1 })
    mill.worker({ poll: ['pages'], handle: { PRINT: () => undefined } }).start()
    await clock.advance(30_000)
    const ended = async (): Promise<number | undefined> => {
      const { items } = await (backend.metrics?.snapshot({ limit: 10 }) ?? { items: [] })
      return items.find(({ queue: name }) => name === 'press-dev-pages')?.handlers?.ended
    }
    assert.equal(await ended(), undefined)
    fails = false
    await clock.advance(2 * minute)
    assert.equal(await ended(), 1)
  })

  test('have values of the app, which belong to its stage', async () => {
    const folder = await temporaryFolder('values')
    const ports = virtualPorts()
    const backend = await openSqlite({ file: folder.file('millrace.db'), ports })
    const prod = await open(press, { backend, ports, stage: 'prod' })
    const dev = await open(press, { backend, ports, stage: 'dev' })
    onTestFinished(async () => {
      await Promise.all([prod.close(), dev.close()])
      await backend.close()
      await folder.remove()
    })
    await prod.metrics.put('ink used', 2.5)
    await prod.metrics.put('ink used', 1)
    const [noted] = await prod.metrics.values('ink used')
    assert.deepEqual([noted?.count, noted?.sum, noted?.min, noted?.max], [2, 3.5, 1, 2.5])
    assert.deepEqual(await dev.metrics.values('ink used'), [])
    await assert.rejects(prod.metrics.put('ink used', Number.NaN), { code: 'invalid_argument' })
  })

  test('are asked for by span', async () => {
    const { mill, clock } = await openScene(press)
    const start = clock.now()
    for (let count = 0; count < 4; count += 1) {
      await mill.queues.mail.send({ count })
      await clock.advance(minute)
    }
    const of = async (span: Parameters<typeof mill.metrics.minutes>[1]) =>
      (await mill.metrics.minutes('press-dev-mail', span)).map(
        (one) => (one.minute - start) / minute,
      )
    assert.deepEqual(await of({ last: '2m' }), [2, 3])
    assert.deepEqual(await of({ from: new Date(start + minute) }), [1, 2, 3])
    const to = new Date(start + 2 * minute)
    assert.deepEqual(await of({ from: new Date(start), to }), [0, 1, 2])
    await assert.rejects(mill.metrics.minutes('nowhere'), { code: 'queue_not_found' })
    await assert.rejects(mill.metrics.minutes('mail', { from: new Date(Number.NaN) }), {
      code: 'invalid_argument',
    })
  })
})
