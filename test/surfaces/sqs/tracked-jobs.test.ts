/**
 * Jobs that the library enqueued, in the hands of a client that speaks nothing but SQS: a receive is an
 * attempt, a delete completes the job, and whatever ends an attempt otherwise is a retry.
 */
import assert from 'node:assert/strict'
import { describe, onTestFinished, test } from 'vitest'
import { z } from 'zod'
import { type Mill, open } from '../../../src/app/open.ts'
import { type App, defineApp } from '../../../src/contracts/define-app.ts'
import { type JobsQueue, jobs } from '../../../src/contracts/jobs-declaration.ts'
import { changeMessageVisibilityBatch } from '../../../src/surfaces/sqs-protocol/actions/change-message-visibility-batch.ts'
import { deleteMessageBatch } from '../../../src/surfaces/sqs-protocol/actions/delete-message-batch.ts'
import { receiveMessage } from '../../../src/surfaces/sqs-protocol/actions/receive-message.ts'
import { type ActionScene, type BatchAnswer, openScene, refusal, second } from './action-scene.ts'

const lapsed = 'The lease ended before the attempt was settled.'

const Page = z.object({ page: z.number() })

const academy: App<{ basic: JobsQueue<{ OCR: typeof Page }> }> = defineApp('academy', {
  queues: {
    basic: jobs({
      types: { OCR: Page },
      attempts: 2,
      visibilityTimeout: '10s',
      deadLetter: {},
      backoff: { from: '1s', jitter: 0 },
    }),
  },
})

interface JobsScene {
  readonly scene: ActionScene
  readonly mill: Mill<typeof academy>
  /** The names of the queue and of its dead-letter queue. */
  readonly queue: string
  readonly dead: string
  enqueue(page?: number): Promise<string>
  /** Status, attempts made, and the error. */
  fate(id: string): Promise<readonly unknown[]>
  outcomes(id: string): Promise<readonly string[]>
}

async function openJobs(): Promise<JobsScene> {
  const scene = await openScene()
  const mill = await open(academy, { backend: scene.backend, ports: scene.ports, log: false })
  onTestFinished(() => mill.close())
  const { name: queue } = mill.queues.basic
  const { settings } = await scene.backend.readQueue({ queue })
  return {
    scene,
    mill,
    queue,
    dead: settings.deadLetter?.queue ?? '',
    async enqueue(page = 1) {
      return (await mill.jobs.enqueue('basic', 'OCR', { page })).id
    },
    async fate(id) {
      const job = await mill.jobs.get(id)
      return [job?.status, job?.attemptsMade, job?.error]
    },
    async outcomes(id) {
      return (await mill.jobs.attempts(id)).map(({ outcome }) => outcome)
    },
  }
}

describe('a job received by a foreign client', () => {
  test('is being processed, and has its payload for a body and its id for a message id', async () => {
    const { scene, queue, enqueue, fate } = await openJobs()
    const id = await enqueue(7)
    assert.deepEqual(await fate(id), ['pending', 0, null])
    const message = await scene.receiveOne(queue, { AttributeNames: ['All'] })
    assert.equal(message.Body, '{"page":7}')
    assert.equal(message.MessageId, id)
    assert.equal(message.Attributes?.['ApproximateReceiveCount'], '1')
    assert.deepEqual(await fate(id), ['processing', 1, null])
  })

  test('is completed by a delete', async () => {
    const { scene, queue, enqueue, fate, outcomes } = await openJobs()
    const id = await enqueue()
    await scene.delete(queue, (await scene.receiveOne(queue)).ReceiptHandle)
    assert.deepEqual(await fate(id), ['completed', 1, null])
    assert.deepEqual(await outcomes(id), ['completed'])
  })

  test('is completed by a delete in a batch', async () => {
    const { scene, queue, enqueue, fate } = await openJobs()
    const ids = [await enqueue(1), await enqueue(2)]
    const messages = await scene.receive(queue, { MaxNumberOfMessages: 10 })
    const Entries = messages.map(({ MessageId: Id, ReceiptHandle }) => ({ Id, ReceiptHandle }))
    await scene.call(deleteMessageBatch, queue, { Entries })
    for (const id of ids) assert.deepEqual(await fate(id), ['completed', 1, null])
  })

  test('stays in hand for as long as its visibility is extended', async () => {
    const { scene, queue, enqueue, fate } = await openJobs()
    const id = await enqueue()
    const { ReceiptHandle } = await scene.receiveOne(queue)
    await scene.changeVisibility(queue, ReceiptHandle, 60)
    await scene.clock.advance(59 * second)
    assert.deepEqual(await fate(id), ['processing', 1, null])
    await scene.delete(queue, ReceiptHandle)
    assert.deepEqual(await fate(id), ['completed', 1, null])
  })

  test('is pending again, and has been retried, once its visibility is 0', async () => {
    const { scene, queue, enqueue, fate, outcomes } = await openJobs()
    const id = await enqueue()
    await scene.changeVisibility(queue, (await scene.receiveOne(queue)).ReceiptHandle, 0)
    assert.deepEqual(await fate(id), ['pending', 1, null])
    assert.deepEqual(await outcomes(id), ['retried'])
    await scene.delete(queue, (await scene.receiveOne(queue)).ReceiptHandle)
    assert.deepEqual(await fate(id), ['completed', 2, null])
    assert.deepEqual(await outcomes(id), ['retried', 'completed'])
  })

  test('is pending again, and its attempt has lapsed, once its timeout is over', async () => {
    const { scene, queue, enqueue, fate, outcomes } = await openJobs()
    const id = await enqueue()
    await scene.receiveOne(queue)
    await scene.clock.advance(10 * second)
    await scene.receiveOne(queue)
    assert.deepEqual(await fate(id), ['processing', 2, lapsed])
    assert.deepEqual((await outcomes(id))[0], 'lapsed')
  })

  test('has failed and is a dead letter once its attempts are used up', async () => {
    const { scene, queue, dead, enqueue, fate } = await openJobs()
    const id = await enqueue()
    for (const expected of ['1', '2']) {
      const message = await scene.receiveOne(queue, { AttributeNames: ['All'] })
      assert.equal(message.Attributes?.['ApproximateReceiveCount'], expected)
      const Entries = [{ Id: 'a', ReceiptHandle: message.ReceiptHandle, VisibilityTimeout: 0 }]
      const fields = { Entries }
      const { Failed } = await scene.call<BatchAnswer>(changeMessageVisibilityBatch, queue, fields)
      assert.deepEqual(Failed, [])
    }
    assert.deepEqual(await scene.receive(queue), [])
    const [status, attempts] = await fate(id)
    assert.deepEqual([status, attempts], ['failed', 2])
    const letter = await scene.receiveOne(dead, { AttributeNames: ['All'] })
    assert.equal(letter.MessageId, id)
    assert.equal(letter.Body, '{"page":1}')
    assert.equal(
      letter.Attributes?.['DeadLetterQueueSourceArn'],
      `arn:aws:sqs:us-east-1:000000000000:${queue}`,
    )
  })

  test('is not charged an attempt when the answer did not reach the client', async () => {
    const { scene, queue, enqueue, fate } = await openJobs()
    const id = await enqueue()
    const context = scene.context(queue)
    await receiveMessage.takeBack?.(context, await receiveMessage.run(context, {}))
    assert.deepEqual(await fate(id), ['pending', 0, null])
  })
})

describe('an old receipt handle of a job', () => {
  test('still completes it after the timeout, while nobody else has it', async () => {
    const { scene, queue, enqueue, fate } = await openJobs()
    const id = await enqueue()
    const { ReceiptHandle } = await scene.receiveOne(queue)
    await scene.clock.advance(11 * second)
    await scene.delete(queue, ReceiptHandle)
    assert.deepEqual(await fate(id), ['completed', 1, null])
  })

  test('is refused once somebody else has it: its end belongs to the holder', async () => {
    const { scene, queue, enqueue, fate } = await openJobs()
    const id = await enqueue()
    const { ReceiptHandle: old } = await scene.receiveOne(queue)
    await scene.clock.advance(10 * second)
    const { ReceiptHandle: current } = await scene.receiveOne(queue)
    assert.deepEqual(await refusal(scene.delete(queue, old)), {
      code: 'InvalidParameterValue',
      message: `Value ${old} for parameter ReceiptHandle is invalid. Reason: The receipt handle has expired.`,
    })
    assert.deepEqual(await fate(id), ['processing', 2, lapsed])
    await scene.delete(queue, current)
    assert.deepEqual(await fate(id), ['completed', 2, null])
  })

  test('cannot change the visibility of a job that somebody else has, or that nobody has', async () => {
    const { scene, queue, enqueue, fate } = await openJobs()
    const id = await enqueue()
    const { ReceiptHandle: old } = await scene.receiveOne(queue)
    await scene.clock.advance(10 * second)
    const notInFlight = {
      code: 'AWS.SimpleQueueService.MessageNotInflight',
      message: "The specified message isn't in flight.",
    }
    assert.deepEqual(await refusal(scene.changeVisibility(queue, old, 60)), notInFlight)
    await scene.receiveOne(queue)
    for (const seconds of [60, 0]) {
      assert.deepEqual(await refusal(scene.changeVisibility(queue, old, seconds)), notInFlight)
    }
    assert.deepEqual(await fate(id), ['processing', 2, lapsed])
  })
})

describe('beside our own worker', () => {
  test('a foreign client and a worker share a queue, and each job is done once', async () => {
    const { scene, mill, queue, enqueue, fate } = await openJobs()
    const first = await enqueue(1)
    const { ReceiptHandle } = await scene.receiveOne(queue)
    const handled: number[] = []
    const worker = mill.worker({
      poll: ['basic'],
      handle: { OCR: ({ page }) => void handled.push(page) },
    })
    worker.start()
    const second = await enqueue(2)
    await untilFinished(scene, mill, second)
    await scene.delete(queue, ReceiptHandle)
    assert.deepEqual(handled, [2])
    assert.deepEqual(await fate(first), ['completed', 1, null])
    assert.deepEqual(await fate(second), ['completed', 1, null])
  })

  test('what the client hands back, the worker finishes', async () => {
    const { scene, mill, queue, enqueue, fate, outcomes } = await openJobs()
    const id = await enqueue(1)
    const { ReceiptHandle } = await scene.receiveOne(queue)
    const worker = mill.worker({ poll: ['basic'], handle: { OCR: ({ page }) => ({ page }) } })
    worker.start()
    await scene.changeVisibility(queue, ReceiptHandle, 0)
    await untilFinished(scene, mill, id)
    assert.deepEqual(await fate(id), ['completed', 2, null])
    assert.deepEqual(await outcomes(id), ['retried', 'completed'])
  })

  test('what the worker fails at, the client may finish', async () => {
    const { scene, mill, queue, enqueue, fate, outcomes } = await openJobs()
    const id = await enqueue(1)
    const worker = mill.worker({
      poll: ['basic'],
      handle: {
        OCR: () => {
          throw new Error('not today')
        },
      },
    })
    worker.start()
    for (let turn = 0; turn < 50 && (await outcomes(id)).length === 0; turn += 1) {
      await scene.clock.advance(0)
    }
    await worker.stop()
    await scene.clock.advance(second)
    await scene.delete(queue, (await scene.receiveOne(queue)).ReceiptHandle)
    const [status, attempts] = await fate(id)
    assert.deepEqual([status, attempts], ['completed', 2])
    assert.deepEqual(await outcomes(id), ['retried', 'completed'])
  })
})

async function untilFinished(
  { clock }: ActionScene,
  { jobs }: Mill<typeof academy>,
  id: string,
): Promise<void> {
  for (let turn = 0; turn < 50; turn += 1) {
    if ((await jobs.get(id))?.finishedAt != null) return
    await clock.advance(0)
  }
  assert.fail('the job was not finished')
}
