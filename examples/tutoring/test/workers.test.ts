/** The functions that queues invoke: batches, redeliveries, failures and pauses. */
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import type { SQSEvent, SQSRecord } from 'aws-lambda'
import { describe, test, vi } from 'vitest'
import { llmClassifierWorker } from '../backend/handlers/llm-classifier-worker.ts'
import { telemetryWorker } from '../backend/handlers/telemetry-worker.ts'
import { announceAttempt } from '../backend/services/announce-attempt.ts'
import { called, failed, openFixture, unknownId } from './fixture.ts'

/** One event with the records of several. */
const together = (...events: readonly SQSEvent[]): SQSEvent => ({
  Records: events.flatMap(({ Records }) => Records),
})

const withBody = (record: SQSRecord | undefined, body: object | string): SQSRecord => {
  assert.ok(record !== undefined)
  return {
    ...record,
    messageId: randomUUID(),
    body: typeof body === 'string' ? body : JSON.stringify(body),
  }
}

describe('telemetryWorker', () => {
  test('stores a message once, even if it is delivered again', async () => {
    const { attempt, take, backend } = await openFixture()
    const { telemetry } = backend.stores
    const { id } = await attempt('75')
    const event = await take('SQS_ATTEMPT_STREAM_URL')
    const worker = called(telemetryWorker(telemetry))
    for (const delivery of [event, event, together(event, event)]) {
      assert.deepEqual(failed(await worker(delivery)), [])
    }
    assert.equal(telemetry.ofAttempt(String(id)).length, 1)
  })

  test('stores a message once, even if it is sent again much later', async () => {
    const { attempt, take, backend, mill } = await openFixture()
    const { stores, sender } = backend
    const { id } = await attempt('75')
    const worker = called(telemetryWorker(stores.telemetry))
    await worker(await take('SQS_ATTEMPT_STREAM_URL'))
    // A purge clears the deduplication of the queue, as five minutes would.
    await mill.queues.attemptStream.purge()
    const stored = stores.attempts.get(String(id))
    assert.ok(stored !== undefined)
    await announceAttempt(sender, stored)
    const again = await take('SQS_ATTEMPT_STREAM_URL')
    assert.equal(again.Records.length, 1)
    assert.deepEqual(failed(await worker(again)), [])
    assert.equal(stores.telemetry.ofAttempt(String(id)).length, 1)
  })

  test('keeps the order of an attempt', async () => {
    const { attempt, take, backend, classifying } = await openFixture()
    const { id } = await attempt('58')
    await called(llmClassifierWorker(classifying))(await take('SQS_LLM_CLASSIFY_URL'))
    const event = await take('SQS_ATTEMPT_STREAM_URL')
    assert.equal(event.Records.length, 2)
    // Even if batches arrive in another order, events are read in order.
    const worker = called(telemetryWorker(backend.stores.telemetry))
    for (const record of event.Records.toReversed()) await worker({ Records: [record] })
    const events = backend.stores.telemetry.ofAttempt(String(id))
    assert.deepEqual(
      events.map(({ classifierSource, errorTagId }) => [classifierSource, errorTagId !== null]),
      [
        ['RULE', false],
        ['LLM', true],
      ],
    )
  })

  test('stops a group at its first failure, and continues with the others', async () => {
    const { attempt, take, backend, logged } = await openFixture()
    const [one, other] = [await attempt('75'), await attempt('75')]
    const { Records } = await take('SQS_ATTEMPT_STREAM_URL')
    const ofOne = Records.find(({ attributes }) => attributes.MessageGroupId === one['id'])
    const ofOther = Records.find(({ attributes }) => attributes.MessageGroupId === other['id'])
    assert.ok(ofOne !== undefined && ofOther !== undefined)
    const broken = withBody(ofOne, { attemptId: one['id'], student_name: 'Ana' })
    const worker = called(telemetryWorker(backend.stores.telemetry))
    const response = await worker({ Records: [broken, ofOther, ofOne] })
    assert.deepEqual(failed(response), [broken.messageId, ofOne.messageId])
    assert.match(
      logged.join('\n'),
      /^attemptStream: message \S+ failed in attempt 1: message\.student_name/,
    )
    assert.doesNotMatch(logged.join('\n'), /Ana/)
    assert.equal(backend.stores.telemetry.ofAttempt(String(one['id'])).length, 0)
    assert.equal(backend.stores.telemetry.ofAttempt(String(other['id'])).length, 1)
  })
})

describe('llmClassifierWorker', () => {
  test('stores the result of the model with its source, and sends it to telemetry', async () => {
    const { attempt, take, backend, classifying, mill } = await openFixture()
    const { id } = await attempt('58')
    const worker = called(llmClassifierWorker(classifying))
    assert.deepEqual(failed(await worker(await take('SQS_LLM_CLASSIFY_URL'))), [])
    const stored = backend.stores.attempts.get(String(id))
    assert.deepEqual([stored?.classifierSource, stored?.confidence], ['LLM', 0.8])
    assert.equal((await mill.queues.attemptStream.statistics()).ready, 2)
  })

  test('does not call the model again for a redelivered message', async () => {
    const { attempt, take, classifying, claude, mill } = await openFixture()
    await attempt('58')
    const event = await take('SQS_LLM_CLASSIFY_URL')
    const worker = called(llmClassifierWorker(classifying))
    await worker(event)
    assert.deepEqual(failed(await worker(event)), [])
    assert.equal(claude.requests.length, 1)
    assert.equal((await mill.queues.attemptStream.statistics()).ready, 2)
  })

  test('sends only mathematics to the model, and nothing about the student', async () => {
    const { attempt, take, classifying, claude } = await openFixture()
    const { id, studentId } = await attempt('58')
    await called(llmClassifierWorker(classifying))(await take('SQS_LLM_CLASSIFY_URL'))
    const sent = JSON.stringify(claude.requests)
    assert.match(sent, /47 \+ 38/)
    for (const private_ of [id, studentId]) assert.ok(!sent.includes(String(private_)))
  })

  test('returns the failed messages, and handles the others', async () => {
    const { attempt, take, backend, classifying } = await openFixture()
    const { id } = await attempt('58')
    const { Records } = await take('SQS_LLM_CLASSIFY_URL')
    const missing = withBody(Records[0], { attemptId: unknownId, traceId: 't' })
    const broken = withBody(Records[0], 'not json')
    const worker = called(llmClassifierWorker(classifying))
    const response = await worker({ Records: [missing, ...Records, broken] })
    assert.deepEqual(failed(response), [missing.messageId, broken.messageId])
    assert.equal(backend.stores.attempts.get(String(id))?.classifierSource, 'LLM')
  })

  test('fails a message if the service stays overloaded, and succeeds the next time', async () => {
    const { attempt, take, backend, classifying, claude } = await openFixture()
    const { id } = await attempt('58')
    const event = await take('SQS_LLM_CLASSIFY_URL')
    claude.failNext(529, 500, 529)
    const worker = called(llmClassifierWorker(classifying))
    assert.deepEqual(failed(await worker(event)), [event.Records[0]?.messageId])
    assert.equal(backend.stores.attempts.get(String(id))?.errorTagId, null)
    assert.deepEqual(failed(await worker(event)), [])
    assert.equal(backend.stores.attempts.get(String(id))?.classifierSource, 'LLM')
  })

  test('fails all messages while LLM_PAUSED is set', async () => {
    const { attempt, take, classifying, claude } = await openFixture()
    await attempt('58')
    await attempt('86')
    const event = await take('SQS_LLM_CLASSIFY_URL')
    vi.stubEnv('LLM_PAUSED', 'true')
    const response = await called(llmClassifierWorker(classifying))(event)
    assert.equal(failed(response).length, 2)
    assert.equal(claude.requests.length, 0)
  })
})
