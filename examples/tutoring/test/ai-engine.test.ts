/** The AI engine as a separate process, on real queues, with every message delivered twice. */
import assert from 'node:assert/strict'
import { mkdir, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { beforeEach, describe, onTestFinished, test } from 'vitest'
import { drawPage } from '../../shared/draw-page.ts'
import { Program } from '../../shared/program.ts'
import { until } from '../../shared/until.ts'
import { attemptReprocessWorker } from '../backend/handlers/attempt-reprocess-worker.ts'
import { guidePdf } from '../demo/guide-pdf.ts'
import { called, type Fixture, failed, openFixture, studentId } from './fixture.ts'

const main = join(import.meta.dirname, '../ai-engine/main.ts')
const sourcePdfKey = 'guides/uploads/1.pdf'
const guide = { teacherId: studentId, sourcePdfKey, courseGradeLevel: 5 }

let fixture: Fixture
beforeEach(async () => {
  fixture = await openFixture()
})

async function upload(key: string, object: Buffer): Promise<void> {
  const file = join(fixture.variables['BUCKET_FOLDER'] ?? '', key)
  await mkdir(dirname(file), { recursive: true })
  await writeFile(file, object)
}

async function startEngine(variables: Readonly<Record<string, string>> = {}): Promise<Program> {
  const program = new Program({
    command: [main],
    variables: { ...fixture.variables, ...variables },
  })
  onTestFinished(async () => {
    await program.stop('SIGKILL')
  })
  await program.waitForLine(/consumes 5 queues/)
  return program
}

/** Sends every message of a queue again. */
async function twice(
  queue:
    | 'guideIngestQueue'
    | 'solutionGenerationQueue'
    | 'submissionGradeQueue'
    | 'exerciseGenerateQueue',
): Promise<void> {
  const { mill } = fixture
  const { items } = await mill.queues[queue].peek()
  assert.equal(items.length, 1)
  const body: never = JSON.parse(items[0]?.body ?? '') as never
  await mill.queues[queue].send(body)
}

describe('the AI engine', () => {
  test('can start before the backend has a database', async () => {
    const DATABASE_FILE = join(fixture.variables['BUCKET_FOLDER'] ?? '', 'not/yet/innova.db')
    await startEngine({ DATABASE_FILE })
  })

  test('processes a guide from its PDF to the grade of a photo, and does nothing twice', async () => {
    const { ask, mill, take, backend } = fixture
    await upload(sourcePdfKey, guidePdf(['1. Solve: 2(x - 3) = 14', '2. 47 + 38']))
    const { id } = (await ask('POST', '/guides', guide)).body
    await twice('guideIngestQueue')
    const engine = await startEngine()
    await engine.waitForLine(/guide-ingest: 2 questions/)
    const guides = backend.stores.guides
    assert.equal(guides.get(String(id))?.status, 'EXTRACTED')
    await engine.stop()
    assert.equal(guides.questionsOf(String(id)).length, 2)

    assert.equal((await ask('POST', `/guides/${id}/approval`)).status, 202)
    await twice('solutionGenerationQueue')
    const second = await startEngine()
    await second.waitForLine(/solution-generation: 2 solutions/)
    await second.stop()
    const [question] = guides.questionsOf(String(id))
    assert.deepEqual(question?.solutions, [
      { version: 1, latexSteps: ['2x - 6 = 14', '2x = 20', 'x = 10'] },
    ])

    const photoKeys = ['s/1.png', 's/2.png']
    await upload('s/1.png', await drawPage(['2x - 6 = 14', '2x = 20']))
    await upload('s/2.png', await drawPage(['x = 10']))
    const submission = { studentId, guideQuestionId: question.id, photoKeys }
    const sent = (await ask('POST', '/submissions', submission)).body
    await twice('submissionGradeQueue')
    const third = await startEngine()
    const { attemptReprocessQueue } = mill.queues
    const isGraded = async (): Promise<boolean> =>
      (await attemptReprocessQueue.statistics()).ready === 2
    await until(isGraded, 'both submissions are graded')
    const event = await take('SQS_ATTEMPT_REPROCESS_URL')
    assert.deepEqual(failed(await called(attemptReprocessWorker(backend))(event)), [])
    const attempt = backend.stores.attempts.ofSubmission(String(sent['id']))
    assert.deepEqual(
      [attempt?.inputMode, attempt?.isCorrect, attempt?.alignmentSummary?.path, attempt?.provider],
      ['PHOTO_GUIDE', true, 'solution', 'tesseract'],
    )
    assert.equal(await third.stop(), 0)
  })

  test('adds a new version of a solution on request', async () => {
    const { ask, backend } = fixture
    await upload(sourcePdfKey, guidePdf(['1. 2 + 3 * 4']))
    const { id } = (await ask('POST', '/guides', guide)).body
    const engine = await startEngine()
    await engine.waitForLine(/1 questions/)
    await ask('POST', `/guides/${id}/approval`)
    await engine.waitForLine(/1 solutions/)
    const [question] = backend.stores.guides.questionsOf(String(id))
    await ask('POST', `/guides/${id}/solutions`, { guideQuestionId: question?.id })
    const versions = (): readonly number[] | undefined =>
      backend.stores.guides.question(question?.id ?? '')?.solutions.map(({ version }) => version)
    await until(() => versions()?.length === 2, 'there is a second version')
    assert.deepEqual(versions(), [1, 2])
  })

  test('generates the ordered number of exercises once', async () => {
    const { ask } = fixture
    const targetErrorCodes = ['ADD_CARRY_OMITTED']
    const order = { subdomainCode: 'PRACTICE', gradeLevel: 5, targetErrorCodes, count: 3 }
    await ask('POST', '/items/generate', order)
    await twice('exerciseGenerateQueue')
    const engine = await startEngine()
    await engine.waitForLine(/exercise-generate: 3 exercises/)
    await engine.stop()
    const { items } = (await ask('GET', '/items?subdomainCode=PRACTICE')).body
    assert.ok(Array.isArray(items))
    assert.equal(items.length, 3)
  })

  test('sends the older message format as the OCR adapter', async () => {
    const { attempt, ask, take, backend } = fixture
    const { id } = await attempt('75')
    await upload('a/1.png', await drawPage(['47 + 38 = 85']))
    await ask('POST', `/attempts/${id}/photo`, { photoKey: 'a/1.png' })
    const engine = await startEngine()
    await engine.waitForLine(/ocr: 1 lines read/)
    await engine.stop()
    const event = await take('SQS_ATTEMPT_REPROCESS_URL')
    assert.deepEqual(Object.keys(JSON.parse(event.Records[0]?.body ?? '')), [
      'attempt_id',
      'latex_steps',
      'provider',
      'confidence',
      'trace_id',
    ])
    assert.deepEqual(failed(await called(attemptReprocessWorker(backend))(event)), [])
    assert.equal(backend.stores.attempts.get(String(id))?.isCorrect, true)
  })

  test('leaves a failed message in the queue, and continues with the next', async () => {
    const { ask, mill } = fixture
    await ask('POST', '/guides', guide)
    const engine = await startEngine()
    await engine.waitForLine(/guide-ingest: failed: Error: The object does not exist/)
    await upload('guides/uploads/2.pdf', guidePdf(['1. 2 + 2']))
    await ask('POST', '/guides', { ...guide, sourcePdfKey: 'guides/uploads/2.pdf' })
    await engine.waitForLine(/guide-ingest: 1 questions/)
    assert.equal(await engine.stop(), 0)
    const { ready, leased } = await mill.queues.guideIngestQueue.statistics()
    assert.deepEqual([ready, leased], [0, 1])
  })

  test('requires its queue URLs, and names the missing ones', async () => {
    const program = new Program({ command: [main], variables: {} })
    assert.equal(await program.ended, 1)
    assert.match(
      program.output,
      /valid values for SQS_GUIDE_INGEST_URL, .*SQS_ATTEMPT_REPROCESS_URL/,
    )
  })
})
