/** LLM_PAUSED and OCR_PAUSED: as kill switches of the store, and as variables of the workers. */
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { SetQueueAttributesCommand, SQSClient } from '@aws-sdk/client-sqs'
import { type Mill, open } from 'millrace'
import { type RunningDev, startDev } from 'millrace/server'
import { describe, onTestFinished, test } from 'vitest'
import { temporaryFolder } from '../../../test/support/temporary-folder.ts'
import { Program } from '../../shared/program.ts'
import { storeVariables } from '../../shared/test/store.ts'
import { until } from '../../shared/until.ts'
import { tutoring } from '../backend/app.ts'
import { awsVariables, queueUrl } from '../demo/local-variables.ts'
import { openFixture } from './fixture.ts'

const example = join(import.meta.dirname, '..')
const message = { attemptId: 'f4a4e1de-6a0e-4a4e-8c51-0a4c0d2f9a11', traceId: 't-1' }
/** For the attempt-reprocess-queue, which no switch applies to. */
const otherMessage = {
  attempt_id: message.attemptId,
  latex_steps: [],
  provider: 'gemini',
  confidence: 1,
  trace_id: 't-1',
}

const template = join(example, 'serverless.yml')
const app = join(example, 'backend/app.ts')

/** The same as `millrace dev`, with the template and the app on one store. */
async function openStack(
  environment: Readonly<Record<string, string>> = {},
  templates: readonly string[] = [template, app],
) {
  const folder = await temporaryFolder('tutoring-pauses')
  const { MILLRACE_STORE: store = folder.file('store') } = await storeVariables()
  const reports: string[] = []
  const up = (): Promise<RunningDev> =>
    startDev({
      templates,
      port: 0,
      store,
      parameters: { llmBatchingWindow: '0' },
      environment: {
        PATH: process.env['PATH'],
        DATABASE_FILE: folder.file('innova.db'),
        TELEMETRY_FILE: folder.file('telemetry.db'),
        ...environment,
      },
      onInvocation: (report) => void reports.push(report.function),
      onLogLine: () => undefined,
    })
  const dev = await up()
  const mill = await open(tutoring, { store })
  onTestFinished(async () => {
    await mill.close()
    await dev.stop()
    await folder.remove()
  })
  return { dev, up, mill, reports }
}

async function hideForOneSecond(endpoint: string, queue: string): Promise<void> {
  const { AWS_REGION: region, AWS_ACCESS_KEY_ID: accessKeyId } = awsVariables
  const credentials = { accessKeyId, secretAccessKey: awsVariables.AWS_SECRET_ACCESS_KEY }
  const client = new SQSClient({ region, endpoint, credentials })
  const QueueUrl = queueUrl(endpoint, queue)
  await client.send(
    new SetQueueAttributesCommand({ QueueUrl, Attributes: { VisibilityTimeout: '1' } }),
  )
  client.destroy()
}

const deadLettersOf = async ({ queues }: Mill<typeof tutoring>): Promise<number> =>
  (await queues.llmClassifyDlq.statistics()).ready

describe('the switch LLM_PAUSED', () => {
  test('diverts messages to the dead-letter queue', async () => {
    const { mill, reports } = await openStack()
    await mill.switches.divert({ name: 'LLM_PAUSED' }, { by: 'test' })
    await mill.queues.llmClassifyQueue.send(message)
    await until(async () => (await deadLettersOf(mill)) === 1, 'the message is dead-lettered')
    const { items } = await mill.queues.llmClassifyDlq.peek()
    assert.match(items[0]?.deadLetterOrigin?.reason ?? '', /LLM_PAUSED/)
    assert.deepEqual(reports, [])
  })

  test('holds messages in their queue until it is lifted', async () => {
    const { mill, reports } = await openStack()
    await mill.switches.hold({ name: 'LLM_PAUSED' }, { by: 'test' })
    await mill.queues.llmClassifyQueue.send(message)
    // Another queue of the same server continues.
    await mill.queues.attemptReprocessQueue.send(otherMessage)
    await until(() => reports.length === 1, 'the other queue is processed')
    assert.match(reports.join(), /attemptReprocessWorker/)
    assert.equal((await mill.queues.llmClassifyQueue.statistics()).ready, 1)
    await mill.switches.lift({ name: 'LLM_PAUSED' }, { by: 'test' })
    await until(() => reports.length === 2, 'the message is handled')
    assert.match(reports.at(-1) ?? '', /llmClassifierWorker/)
  })

  test('still applies after the template is deployed again', async () => {
    const { mill, dev, up, reports } = await openStack()
    await mill.switches.divert({ name: 'LLM_PAUSED' }, { by: 'test' })
    await dev.stop()
    const again = await up()
    onTestFinished(() => again.stop())
    await mill.queues.llmClassifyQueue.send(message)
    await until(async () => (await deadLettersOf(mill)) === 1, 'the message is dead-lettered')
    assert.deepEqual(reports, [])
  })
})

describe('the switch OCR_PAUSED', () => {
  test('holds photos, whose queue has no dead-letter queue, and diverts grading', async () => {
    const { mill } = await openFixture()
    const { ocrQueue, submissionGradeQueue, submissionGradeDlq } = mill.queues
    await mill.switches.divert({ name: 'OCR_PAUSED' }, { by: 'test' })
    const id = message.attemptId
    await ocrQueue.send({ attempt_id: id, photo_key: 'a.png', trace_id: 't-1' })
    await submissionGradeQueue.send({
      guide_submission_id: id,
      guide_question_id: id,
      solution_version: 1,
      photo_keys: ['a.png'],
      trace_id: 't-1',
    })
    assert.deepEqual(await ocrQueue.receive(), [])
    assert.deepEqual(await submissionGradeQueue.receive(), [])
    assert.equal((await ocrQueue.statistics()).ready, 1)
    assert.equal((await submissionGradeDlq.statistics()).ready, 1)
  })
})

describe('the variable', () => {
  test('LLM_PAUSED=true of the server holds messages without using up receives', async () => {
    const { mill, dev, reports } = await openStack({ LLM_PAUSED: 'true' })
    await mill.queues.llmClassifyQueue.send(message)
    await mill.queues.attemptReprocessQueue.send(otherMessage)
    await until(() => reports.length === 1, 'the other queue is processed')
    await dev.stop()
    const { items } = await mill.queues.llmClassifyQueue.peek()
    assert.deepEqual(
      items.map(({ receiveCount }) => receiveCount),
      [0],
    )
  })

  test('LLM_PAUSED=true of the function makes it fail messages until they are dead letters', async () => {
    // As on AWS, where only the function knows the switch: without the app, no queue obeys it.
    const { mill, dev, reports } = await openStack({ LLM_PAUSED: 'true' }, [template])
    // In the specified queue, a message is invisible for six minutes each time.
    await hideForOneSecond(dev.url, 'llm-classify-queue')
    await mill.queues.llmClassifyQueue.send(message)
    await until(async () => (await deadLettersOf(mill)) === 1, 'the message is dead-lettered')
    // The fourth receive dead-letters it, possibly while the third invocation still runs.
    await until(() => reports.length >= 3, 'the last invocation has ended')
    assert.equal(reports.length, 3)
  })

  test('OCR_PAUSED=true makes the AI engine skip photos', async () => {
    const { ask, attempt, variables, mill } = await openFixture()
    const { id } = await attempt('75')
    await ask('POST', `/attempts/${id}/photo`, { photoKey: 'a.png' })
    const engine = new Program({
      command: [join(example, 'ai-engine/main.ts')],
      variables: { ...variables, OCR_PAUSED: 'true' },
    })
    await engine.waitForLine(/ocr: not processed, OCR_PAUSED is on/)
    assert.equal(await engine.stop(), 0)
    assert.equal((await mill.queues.ocrQueue.statistics()).leased, 1)
  })
})
