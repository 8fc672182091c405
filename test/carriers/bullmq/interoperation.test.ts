/** Programs with BullMQ and no Millrace, on the same queues. */
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { createBullBoard } from '@bull-board/api'
import { BullMQAdapter } from '@bull-board/api/bullMQAdapter'
import { Worker } from 'bullmq'
import { describe, onTestFinished, test } from 'vitest'
import {
  bullQueue,
  connectionOf,
  eventually,
  message,
  queue,
  receive,
  receiveOne,
  type Scene,
  scene,
  send,
  standard,
  tracked,
} from './scene.ts'

describe('a program with BullMQ', () => {
  test('fills a queue that the carrier receives', async () => {
    const at = await scene()
    const own = bullQueue(at)
    await own.add('OMR', { examId: 1, empty: [] })
    await own.add('OCR', 'text', { jobId: 'my-id', priority: 5, attempts: 1 })
    await own.add('__default__', {}, { delay: 50 })
    const first = await receiveOne(at.carrier)
    assert.deepEqual(
      [first.jobType, first.body, first.id, first.labels],
      ['OMR', '{"examId":1,"empty":[]}', '1', null],
    )
    const second = await receiveOne(at.carrier)
    assert.deepEqual([second.jobType, second.body, second.id], ['OCR', '"text"', 'my-id'])
    assert.deepEqual(second.systemAttributes, { 'millrace.priority': '5' })
    const third = await receiveOne(at.carrier)
    // Its attempts are BullMQ's: they do not end it here.
    const messages = [{ handle: second.handle, delayMs: 0, error: 'boom' }]
    assert.deepEqual(await at.carrier.release({ queue, messages }), [true])
    assert.equal((await receiveOne(at.carrier)).id, 'my-id')
    assert.equal(third.body, '{}')
  })

  test('wakes a receive that waits', async () => {
    const at = await scene()
    const waiting = receiveOne(at.carrier)
    await bullQueue(at).add('OMR', {})
    assert.equal((await waiting).jobType, 'OMR')
  })

  test('processes jobs of ours with its own worker', async () => {
    const at = await scene()
    const id = randomUUID()
    await send(at.carrier, message('{"examId":1}', tracked(id)), 'plain')
    const seen: unknown[] = []
    bullWorker(at, async (job) => {
      seen.push([job.name, job.data, job.id === id])
      return { pages: 1 }
    })
    await eventually(async () => assert.equal(await bullQueue(at).getCompletedCount(), 2))
    assert.deepEqual(seen, [
      ['ocr', { examId: 1 }, true],
      ['message', 'plain', false],
    ])
    await send(at.carrier, message('{"examId":2}', tracked(id)))
    await eventually(() => assert.equal(seen.length, 3))
  })

  test('shares the work: each job is processed by one of both', async () => {
    const at = await scene()
    const bodies = Array.from({ length: 200 }, (_, index) => String(index))
    const seen: string[] = []
    bullWorker(at, async (job) => void seen.push(String(job.data)))
    await send(at.carrier, ...bodies)
    await eventually(async () => {
      const messages = await receive(at.carrier, { max: 5 })
      seen.push(...messages.map(({ body }) => body))
      await at.carrier.remove({ queue, messages })
      assert.equal(seen.length, bodies.length)
    })
    assert.deepEqual(
      seen.toSorted((a, b) => Number(a) - Number(b)),
      bodies,
    )
  })

  test('pauses a queue, and the carrier reports it', async () => {
    const at = await scene()
    const own = bullQueue(at)
    await own.pause()
    await own.setGlobalConcurrency(3)
    await send(at.carrier, '1')
    assert.deepEqual(await receive(at.carrier), [])
    const differences = await at.carrier.ensure({ queue, settings: standard, isTracked: true })
    assert.match(differences.join('\n'), /is paused in BullMQ.*\n.*3 jobs/)
    const waiting = receiveOne(at.carrier)
    await own.resume()
    assert.equal((await waiting).body, '1')
  })

  test('sees the jobs in Bull Board', async () => {
    const at = await scene()
    const own = bullQueue(at)
    const failing = message('{"examId":1}', tracked(randomUUID()))
    await send(at.carrier, failing, message('{"examId":2}', tracked(randomUUID())))
    const { handle } = await receiveOne(at.carrier)
    await at.carrier.remove({ queue, messages: [{ handle, error: 'boom' }] })
    const adapter = new BullMQAdapter(own)
    createBullBoard({
      queues: [adapter],
      serverAdapter: silentServer(),
    })
    assert.deepEqual(
      (await adapter.getJobs(['failed'], 0, 9)).map((job) => {
        const { name, data, failedReason, opts } = job.toJSON()
        return [name, data, failedReason, 'millrace' in opts]
      }),
      [['ocr', { examId: 1 }, 'boom', true]],
    )
    const { waiting, failed } = await adapter.getJobCounts()
    assert.deepEqual([waiting, failed], [1, 1])
    // Its button "Retry".
    const [job] = await adapter.getJobs(['failed'], 0, 9)
    await job?.retry('failed')
    const bodies = [(await receiveOne(at.carrier)).body, (await receiveOne(at.carrier)).body]
    assert.deepEqual(bodies.toSorted(), ['{"examId":1}', '{"examId":2}'])
  })

  test('limits the rate of a queue, by its options', async () => {
    const at = await scene({ limiters: { [queue]: { max: 2, duration: 400 } } })
    await send(at.carrier, '1', '2', '3')
    const startedAt = performance.now()
    for (const body of ['1', '2', '3']) assert.equal((await receiveOne(at.carrier)).body, body)
    assert.ok(performance.now() - startedAt > 200, 'the third one did not wait')
  })
})

function bullWorker(
  { url, prefix }: Scene,
  run: ConstructorParameters<typeof Worker>[1] & object,
): Worker {
  const worker = new Worker(queue, run, { connection: connectionOf(url), prefix })
  onTestFinished(() => worker.close())
  return worker
}

/** Serves nothing: what Bull Board shows is asked of its adapter. */
function silentServer(): Parameters<typeof createBullBoard>[0]['serverAdapter'] {
  const server = {
    setQueues: () => server,
    setViewsPath: () => server,
    setStaticPath: () => server,
    setEntryRoute: () => server,
    setErrorHandler: () => server,
    setApiRoutes: () => server,
    setUIConfig: () => server,
  }
  return server
}
