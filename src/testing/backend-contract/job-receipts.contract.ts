/** Jobs of programs that do not use the library: what they may leave out, and what their receipts name. */
import assert from 'node:assert/strict'
import type { NewJob } from '../../backends/job-store.ts'
import { createFlowQueues, openFlow, pages } from './flow-scene.ts'
import { enqueue, jobsOf, readJob } from './job-scene.ts'
import { day, grouped, minute, only, type Scene, second } from './scene.ts'
import type { ContractSuite } from './suite.ts'

export function describeJobReceipts(all: ContractSuite): void {
  const suite = all.needing('trackedJobs')
  suite.describe('the receipt of a job', () => describeReceipts(suite))
  suite.describe('a job with few options', () => describeDefaults(suite))
  suite.describe('the attributes of a job', () => describeAttributes(suite))
}

const idOf = async (scene: Scene, receipt: string, queue = 'q'): Promise<string | undefined> =>
  (await jobsOf(scene).readReceipt({ queue, receipt }))?.id

function describeReceipts(suite: ContractSuite): void {
  suite.test('names its job, whatever became of the lease', async (scene) => {
    await scene.queue('q', { visibilityMs: 10 * second })
    const { id } = await enqueue(scene)
    await enqueue(scene)
    const first = await scene.receiveOne('q')
    assert.deepEqual(await jobsOf(scene).readReceipt({ queue: 'q', receipt: first.receipt }), {
      id,
      unit: null,
    })
    await scene.advance(11 * second)
    assert.equal(await idOf(scene, first.receipt), id)
    const again = await scene.receiveOne('q')
    assert.equal(await idOf(scene, first.receipt), id)
    assert.equal(await idOf(scene, again.receipt), id)
    const other = await scene.receiveOne('q')
    assert.notEqual(await idOf(scene, other.receipt), id)
    await scene.settle('q', again.receipt, { kind: 'acknowledge' })
    assert.equal(await idOf(scene, again.receipt), id)
  })

  suite.test('names nothing in another queue, and no forged one names anything', async (scene) => {
    await scene.queue('q')
    await scene.queue('other')
    await enqueue(scene)
    const { receipt } = await scene.receiveOne('q')
    assert.equal(await idOf(scene, receipt, 'other'), undefined)
    const [, queueId, sequence, token, code = ''] = receipt.split('-')
    const guessed = [
      `r2-${queueId}-${Number(sequence) + 1}-${Number(token) + 1}-${code}`,
      `r2-${queueId}-${sequence}-${Number(token) + 1}-${code}`,
      `r2-${queueId}-${sequence}-${token}-${code.replace('.', '1.')}`,
    ]
    for (const text of ['', 'r1-1-1-1-1', `${receipt}0`, receipt.replace('r2', 'r1'), ...guessed]) {
      await assert.rejects(idOf(scene, text), { code: 'receipt_invalid' }, text)
    }
  })

  suite.needing('flows').test('names the unit that the job works on', async (scene) => {
    await createFlowQueues(scene)
    const job: NewJob = { type: 'OCR', payload: '1', maxAttempts: 1 }
    await openFlow(scene, [{ id: 'a', work: { queue: 'work', job } }])
    const { receipt } = await scene.receiveOne('work')
    const facts = await jobsOf(scene).readReceipt({ queue: 'work', receipt })
    assert.deepEqual(facts?.unit, { ...pages, unit: 'a' })
    await scene.settle('work', receipt, { kind: 'acknowledge' })
    assert.equal((await jobsOf(scene).readReceipt({ queue: 'work', receipt }))?.unit, null)
  })
}

const brief: NewJob = { type: 'OCR', payload: '1' }

async function enqueueBrief(scene: Scene, changes: Partial<NewJob> = {}): Promise<string> {
  const jobs = [{ ...brief, ...changes }]
  return only(await jobsOf(scene).enqueue({ queue: 'q', jobs })).id
}

function describeDefaults(suite: ContractSuite): void {
  suite.test('may run three times', async (scene) => {
    await scene.queue('q')
    assert.equal((await readJob(scene, await enqueueBrief(scene))).maxAttempts, 3)
    const two = await jobsOf(scene).enqueue({ queue: 'q', jobs: [brief, brief] })
    for (const { id } of two) assert.equal((await readJob(scene, id)).maxAttempts, 3)
  })

  suite.test('may run as often as a message of its queue is received', async (scene) => {
    await scene.queueWithDeadLetters('q', 5)
    const id = await enqueueBrief(scene)
    assert.equal((await readJob(scene, id)).maxAttempts, 5)
    const { job } = await scene.receiveOne('q')
    assert.equal(job?.maxAttempts, 5)
    const own = await enqueueBrief(scene, { maxAttempts: 1 })
    assert.equal((await readJob(scene, own)).maxAttempts, 1)
  })

  suite.test('has its idempotency key for a day', async (scene) => {
    await scene.queue('q', { retentionMs: 14 * day })
    const idempotency = { key: 'k' }
    const id = await enqueueBrief(scene, { idempotency })
    await scene.advance(day - minute)
    assert.equal(await enqueueBrief(scene, { idempotency }), id)
    await scene.advance(2 * minute)
    assert.notEqual(await enqueueBrief(scene, { idempotency }), id)
  })
}

const attributes = {
  source: { type: 'String', value: 'shop' },
  size: { type: 'Number', value: '7' },
  bytes: { type: 'Binary', value: Uint8Array.of(1, 2) },
}

function describeAttributes(suite: ContractSuite): void {
  suite.test('are delivered with it, at every attempt', async (scene) => {
    await scene.queue('q', { visibilityMs: 10 * second })
    const systemAttributes = { AWSTraceHeader: 'Root=1' }
    await enqueueBrief(scene, { attributes, systemAttributes })
    for (let attempt = 1; attempt <= 2; attempt += 1) {
      const delivery = await scene.receiveOne('q')
      assert.deepEqual(delivery.attributes, attributes)
      assert.deepEqual(delivery.systemAttributes, systemAttributes)
      assert.equal(delivery.job?.attempt, attempt)
      await scene.advance(11 * second)
    }
  })

  suite.test('are refused where those of a message are', async (scene) => {
    await scene.queue('q')
    const bad = { 'aws.x': { type: 'String', value: 'x' } }
    await assert.rejects(enqueueBrief(scene, { attributes: bad }), { code: 'invalid_argument' })
    assert.deepEqual(await scene.counts('q'), { ready: 0, leased: 0, delayed: 0 })
  })

  suite.test("may not take Millrace's own names, for messages neither", async (scene) => {
    await scene.queue('q')
    for (const name of ['millrace.jobId', 'Millrace.mine']) {
      const reserved = { [name]: { type: 'String', value: 'x' } }
      await assert.rejects(enqueueBrief(scene, { attributes: reserved }), {
        code: 'invalid_argument',
      })
      const message = { body: '1', attributes: reserved }
      const [result] = await scene.backend.send({ queue: 'q', messages: [message] })
      assert.equal(result?.status, 'refused', name)
    }
  })

  suite
    .needing('fifo')
    .test('are kept in a FIFO queue, in the order of the group', async (scene) => {
      await scene.queue('q.fifo', { type: 'fifo' })
      const jobs = ['1', '2'].map((payload) => {
        return { ...brief, payload, tenant: 'g', deduplicationId: payload, attributes }
      })
      await jobsOf(scene).enqueue({ queue: 'q.fifo', jobs })
      await scene.send('q.fifo', { ...grouped('g', '3'), deduplicationId: '3' })
      for (const payload of ['1', '2']) {
        const delivery = await scene.receiveOne('q.fifo')
        assert.deepEqual([delivery.body, delivery.attributes], [payload, attributes])
        await scene.settle('q.fifo', delivery.receipt, { kind: 'acknowledge' })
      }
      assert.equal((await scene.receiveOne('q.fifo')).job, null)
    })
}
