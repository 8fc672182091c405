/** serverless.yml matches the specification, and the app matches serverless.yml. */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseEnv } from 'node:util'
import { beforeAll, describe, test } from 'vitest'
import {
  type ReadTemplate,
  readTemplate,
  resolveQueues,
  type Stack,
} from '../../shared/not-public.ts'
import { tutoring } from '../backend/app.ts'

const example = join(import.meta.dirname, '..')
const endpoint = 'http://localhost:4566'

function read(parameters: Readonly<Record<string, string>> = {}, stage?: string) {
  return readTemplate({
    file: join(example, 'serverless.yml'),
    parameters,
    environment: {},
    region: 'us-east-1',
    account: '000000000000',
    endpoint,
    ...(stage !== undefined && { stage }),
  })
}

let template: ReadTemplate
let stack: Stack
beforeAll(async () => {
  template = await read()
  assert.ok(template.stack !== null, JSON.stringify(template.problems))
  stack = template.stack
})

const prefix = 'innova-backend-serverless-dev'
const hours = 3_600
type QueueRow = readonly [
  resource: string,
  suffix: string,
  type: 'standard' | 'fifo',
  visibility: number,
  dead: string | null,
  receives: number | null,
]
/** As specified. All of them keep messages for a day. */
const queues: QueueRow[] = [
  ['AttemptStreamQueue', 'attempt-stream.fifo', 'fifo', 60, null, null],
  ['LlmClassifyQueue', 'llm-classify-queue', 'standard', 360, 'llm-classify-dlq', 3],
  ['OcrQueue', 'ocr-queue', 'standard', 60, null, null],
  ['AttemptReprocessQueue', 'attempt-reprocess-queue', 'standard', 60, 'attempt-reprocess-dlq', 5],
  ['GuideIngestQueue', 'guide-ingest-queue', 'standard', 900, 'guide-ingest-dlq', 3],
  ['SolutionGenQueue', 'solution-generation-queue', 'standard', 900, 'solution-generation-dlq', 3],
  ['SubmissionGradeQueue', 'submission-grade-queue', 'standard', 180, 'submission-grade-dlq', 3],
  ['ExerciseGenerateQueue', 'exercise-generate-queue', 'standard', 360, 'exercise-generate-dlq', 3],
]

describe('the template', () => {
  test('is read without warnings', () => {
    assert.deepEqual(template.problems, [])
  })

  test.each(queues)('declares %s', (logicalId, suffix, type, visibility, dead, maxReceives) => {
    const queue = stack.queues.find((one) => one.logicalId === logicalId)
    assert.equal(queue?.name, `${prefix}-${suffix}`)
    const { settings } = queue
    assert.equal(settings.type ?? 'standard', type)
    assert.equal(settings.visibilityMs, visibility * 1_000)
    assert.equal(settings.retentionMs, 24 * hours * 1_000)
    const target = dead === null ? null : { queue: `${prefix}-${dead}`, maxReceives }
    assert.deepEqual(settings.deadLetter ?? null, target)
  })

  test('declares eight queues, one of them FIFO, and six dead-letter queues that keep messages for 14 days', () => {
    assert.equal(stack.queues.length, 14)
    const dead = stack.queues.filter(({ logicalId }) => logicalId.endsWith('DLQ'))
    assert.equal(dead.length, 6)
    for (const { settings } of dead) assert.equal(settings.retentionMs, 14 * 24 * hours * 1_000)
    const fifo = stack.queues.filter(({ settings }) => settings.type === 'fifo')
    assert.deepEqual(
      fifo.map(({ settings }) => settings.deduplicateByContent),
      [true],
    )
  })

  test('has event sources for the backend, and leaves the other queues to the AI engine', () => {
    const name = (of: string): string => `${prefix}-${of}`
    assert.deepEqual(
      stack.eventSources.map((source) => [source.function, source.queue, source.batchingWindowMs]),
      [
        [name('telemetryWorker'), name('attempt-stream.fifo'), 0],
        [name('llmClassifierWorker'), name('llm-classify-queue'), 60_000],
        [name('attemptReprocessWorker'), name('attempt-reprocess-queue'), 0],
      ],
    )
    assert.ok(stack.eventSources.every(({ reportsBatchItemFailures }) => reportsBatchItemFailures))
  })

  test('has visibility timeouts of six function timeouts plus the batching window', () => {
    for (const { queue, function: name, batchingWindowMs } of stack.eventSources) {
      const timeoutMs = stack.functions.find((one) => one.name === name)?.timeoutMs ?? Infinity
      const visibilityMs =
        stack.queues.find((one) => one.name === queue)?.settings.visibilityMs ?? 0
      assert.ok(visibilityMs >= 6 * timeoutMs + batchingWindowMs, name)
    }
  })

  test('passes the queue URLs of .env.example to every function', () => {
    const local = parseEnv(readFileSync(join(example, '.env.example'), 'utf8'))
    const urls = Object.entries(local).filter(([name]) => name.startsWith('SQS_'))
    assert.equal(urls.length, 8)
    assert.equal(stack.functions.length, 4)
    for (const { environment } of stack.functions) {
      for (const [name, url] of urls) assert.equal(environment[name], url)
    }
  })

  test('has an alarm on every dead-letter queue', () => {
    const watched = stack.alarms.map(({ queue, metric, threshold, comparison }) => [
      queue,
      metric,
      `${comparison} ${threshold}`,
    ])
    const expected = stack.queues
      .filter(({ logicalId }) => logicalId.endsWith('DLQ'))
      .map(({ name }) => [name, 'ApproximateNumberOfMessagesVisible', 'GreaterThanThreshold 0'])
    assert.deepEqual(watched.sort(), expected.sort())
  })

  test('uses the stage in all names, and takes the window as a parameter', async () => {
    const { stack: prod } = await read({ llmBatchingWindow: '1' }, 'prod')
    assert.ok(prod?.queues.every(({ name }) => name.startsWith('innova-backend-serverless-prod-')))
    const windows = prod?.eventSources.map(({ batchingWindowMs }) => batchingWindowMs)
    assert.deepEqual(windows, [0, 1_000, 0])
  })
})

test('the app declares the same queues as the template', () => {
  const { planned } = resolveQueues(tutoring, 'dev')
  const inTemplate = stack.queues.map(({ name, settings }) => [
    name,
    {
      type: settings.type ?? 'standard',
      // Settings that the template leaves out have the SQS defaults.
      visibilityMs: settings.visibilityMs ?? 30_000,
      retentionMs: settings.retentionMs,
      deadLetter: settings.deadLetter ?? null,
      deduplicateByContent: settings.deduplicateByContent ?? false,
    },
  ])
  const inApp = planned.map(({ queue, settings }) => {
    const { type, visibilityMs, retentionMs, deadLetter, deduplicateByContent } = settings
    return [queue, { type, visibilityMs, retentionMs, deadLetter, deduplicateByContent }]
  })
  assert.deepEqual(Object.fromEntries(inApp), Object.fromEntries(inTemplate))
})
