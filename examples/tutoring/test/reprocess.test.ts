/** Messages of the AI engine about photos, in both formats. */
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { describe, test } from 'vitest'
import { startCommand } from '../../../test/support/cli-process.ts'
import { attemptReprocessWorker } from '../backend/handlers/attempt-reprocess-worker.ts'
import type { AttemptReprocessMessage } from '../backend/messages.ts'
import { called, type Fixture, failed, openFixture, studentId, unknownId } from './fixture.ts'

const guideId = '7a1f6f54-2b8f-4c6f-8a8e-1d0a3a6f5b01'
const questionId = '7a1f6f54-2b8f-4c6f-8a8e-1d0a3a6f5b02'
const submissionId = '7a1f6f54-2b8f-4c6f-8a8e-1d0a3a6f5b03'

const reading = { provider: 'anthropic', confidence: 0.9 } as const
const graded: AttemptReprocessMessage = {
  ...reading,
  attempt_id: null,
  latex_steps: ['2x - 3 = 14', 'x = \\frac{17}{2}'],
  trace_id: 'grade-1',
  guide_submission_id: submissionId,
  guide_question_id: questionId,
  alignment_summary: { path: 'wrong', first_error_checkpoint: 0, score_0_1: 0 },
}

/** A fixture with a guide of one question, and a submission for it. */
async function openGuideFixture(): Promise<Fixture> {
  const fixture = await openFixture()
  const { guides } = fixture.backend.stores
  guides.add({
    id: guideId,
    teacherId: studentId,
    sourcePdfKey: 'guides/uploads/1.pdf',
    courseGradeLevel: 5,
    status: 'INGESTING',
  })
  // The AI engine writes these rows.
  using database = new DatabaseSync(fixture.variables['DATABASE_FILE'] ?? '')
  database
    .prepare('INSERT INTO guide_question VALUES (?, ?, 1, ?)')
    .run(questionId, guideId, '2(x - 3) = 14')
  guides.addSubmission({
    id: submissionId,
    studentId,
    guideQuestionId: questionId,
    solutionVersion: 1,
    photoKeys: ['a.png'],
    traceId: 'submit-1',
  })
  return fixture
}

/** Sends messages like the engine, and passes them to the worker. */
async function work(fixture: Fixture, ...messages: readonly AttemptReprocessMessage[]) {
  await fixture.mill.queues.attemptReprocessQueue.sendMany([...messages])
  const event = await fixture.take('SQS_ATTEMPT_REPROCESS_URL')
  assert.equal(event.Records.length, messages.length)
  const worker = called(attemptReprocessWorker(fixture.backend))
  return { event, worker, response: await worker(event) }
}

describe('a message with a guide submission', () => {
  test('creates an attempt with its grade and its error', async () => {
    const fixture = await openGuideFixture()
    const { response } = await work(fixture, graded)
    assert.deepEqual(failed(response), [])
    const { body } = await fixture.ask('GET', `/submissions/${submissionId}`)
    const attempt = body['attempt']
    assert.ok(typeof attempt === 'object' && attempt !== null)
    assert.deepEqual(
      { ...attempt, id: undefined, errorTagId: undefined },
      {
        id: undefined,
        errorTagId: undefined,
        studentId,
        exerciseId: null,
        guideQuestionId: questionId,
        guideSubmissionId: submissionId,
        inputMode: 'PHOTO_GUIDE',
        latexSteps: graded.latex_steps,
        isCorrect: false,
        errorCode: 'DISTRIBUTE_FIRST_ONLY',
        classifierSource: 'RULE',
        ...reading,
        alignmentSummary: graded.alignment_summary,
        traceId: 'grade-1',
        status: 'CLASSIFIED',
      },
    )
  })

  test('creates one attempt, even if it is delivered or sent again', async () => {
    const fixture = await openGuideFixture()
    const { event, worker } = await work(fixture, graded, graded)
    await worker(event)
    const first = fixture.backend.stores.attempts.ofSubmission(submissionId)
    await work(fixture, { ...graded, trace_id: 'grade-2' })
    assert.deepEqual(fixture.backend.stores.attempts.ofSubmission(submissionId), first)
    assert.equal((await fixture.mill.queues.attemptStream.statistics()).ready, 1)
  })

  test('that no rule explains goes to the language model', async () => {
    const fixture = await openGuideFixture()
    await work(fixture, { ...graded, latex_steps: ['x = 71'] })
    assert.equal((await fixture.mill.queues.llmClassifyQueue.statistics()).ready, 1)
  })

  test('of a submission that does not exist fails', async () => {
    const fixture = await openGuideFixture()
    const { response, event } = await work(
      fixture,
      { ...graded, guide_submission_id: unknownId },
      graded,
    )
    const bad = event.Records.find(({ body }) => body.includes(unknownId))
    assert.deepEqual(failed(response), [bad?.messageId])
  })
})

describe('a message of the older format', () => {
  const legacy = (
    attempt_id: unknown,
    trace_id: string,
    line: string,
  ): AttemptReprocessMessage => ({
    ...reading,
    attempt_id: String(attempt_id),
    latex_steps: [line],
    trace_id,
  })

  test('corrects the attempt that it names, and creates none', async () => {
    const fixture = await openFixture()
    const { id } = await fixture.attempt('75')
    await work(fixture, legacy(id, 'ocr-1', '47 + 38 = 85'))
    const { body } = await fixture.ask('GET', `/attempts/${id}`)
    assert.deepEqual(
      [body['inputMode'], body['isCorrect'], body['errorCode'], body['provider'], body['traceId']],
      ['PHOTO', true, null, 'anthropic', 'ocr-1'],
    )
  })

  test('does not undo later results when it is delivered again', async () => {
    const fixture = await openFixture()
    const { id } = await fixture.attempt('75')
    const { event, worker } = await work(fixture, legacy(id, 'ocr-1', '58'))
    const { attempts } = fixture.backend.stores
    const tag = { errorTagId: unknownId, classifierSource: 'HUMAN', confidence: 1 } as const
    assert.ok(attempts.classify(String(id), tag))
    assert.deepEqual(failed(await worker(event)), [])
    assert.equal(attempts.get(String(id))?.classifierSource, 'HUMAN')
  })

  test('about an attempt that does not exist fails', async () => {
    const fixture = await openFixture()
    const { response } = await work(fixture, legacy(unknownId, 'ocr-1', '85'))
    assert.equal(failed(response).length, 1)
  })
})

describe('npm run consume:reprocess', () => {
  const script = join(import.meta.dirname, '../scripts/local-reprocess-consumer.ts')
  const consume = (fixture: Fixture) =>
    startCommand(process.execPath, [script], { ...fixture.variables }).ended

  test('empties the queue without Lambda, and exits', async () => {
    const fixture = await openGuideFixture()
    const { attemptReprocessQueue } = fixture.mill.queues
    const { id } = await fixture.attempt('75')
    const legacy = { ...reading, attempt_id: String(id), latex_steps: ['85'], trace_id: 'ocr-1' }
    await attemptReprocessQueue.sendMany([graded, legacy])
    const { code, stdout, stderr } = await consume(fixture)
    assert.deepEqual([code, stderr], [0, ''], stderr)
    assert.equal(stdout.match(/: attempt [-0-9a-f]{36}, PHOTO(?:_GUIDE)?$/gm)?.length, 2)
    const { ready, leased } = await attemptReprocessQueue.statistics()
    assert.deepEqual([ready, leased], [0, 0])
    assert.ok(fixture.backend.stores.attempts.ofSubmission(submissionId))
  })

  test('prints in one line what is missing and what to do', async () => {
    const fixture = await openFixture()
    const url = fixture.variables['SQS_ATTEMPT_REPROCESS_URL'] ?? ''
    const consumeWith = async (changes: Record<string, string>): Promise<string> => {
      const variables = { ...fixture.variables, ...changes }
      const { code, stdout, stderr } = await startCommand(process.execPath, [script], variables)
        .ended
      assert.deepEqual([code, stdout], [1, ''], stderr)
      assert.match(stderr, /^error: [^\n]+\n$/)
      return stderr
    }
    const fresh = await consumeWith({ SQS_ATTEMPT_REPROCESS_URL: `${url}-2` })
    assert.match(
      fresh,
      /The queue .* does not exist.*cli\.ts up examples\/tutoring\/serverless\.yml/,
    )
    // No server listens on this port.
    const unusedPortUrl = 'http://127.0.0.1:9/000000000000/q'
    const noServer = await consumeWith({
      SQS_ATTEMPT_STREAM_URL: unusedPortUrl,
      SQS_ATTEMPT_REPROCESS_URL: unusedPortUrl,
    })
    assert.match(
      noServer,
      /No server listens at http:\/\/127\.0\.0\.1:9\. Start one first: npm start/,
    )
  })

  test('leaves failed messages in the queue, and reports them', async () => {
    const fixture = await openFixture()
    const { attemptReprocessQueue } = fixture.mill.queues
    await attemptReprocessQueue.send({ ...graded, guide_submission_id: unknownId })
    const { code, stderr } = await consume(fixture)
    assert.equal(code, 1)
    assert.match(stderr, /failed: The submission of this message does not exist/)
    assert.equal((await attemptReprocessQueue.statistics()).leased, 1)
  })
})
