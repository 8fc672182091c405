/** Runs the example with its one command, and checks the results in its store, tables and files. */
import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import sharp from 'sharp'
import { afterAll, beforeAll, describe, test } from 'vitest'
import { type Ended, startCommand } from '../../test/support/cli-process.ts'
import { type TemporaryFolder, temporaryFolder } from '../../test/support/temporary-folder.ts'
import { storeVariables } from '../shared/test/store.ts'
import { readEnvironment } from './environment.ts'
import { studentMarks } from './inputs/make-inputs.ts'
import { type OpenAcademy, openAcademy } from './open-academy.ts'
import type { JobRecord } from './records.ts'

const main = fileURLToPath(new URL('main.ts', import.meta.url))

let folder: TemporaryFolder
let ended: Ended
let academy: OpenAcademy
let records: readonly JobRecord[]

beforeAll(async () => {
  folder = await temporaryFolder('academy')
  const variables = { ACADEMY_DATA: folder.path, ...(await storeVariables()) }
  ended = await startCommand(process.execPath, [main], variables).ended
  academy = await openAcademy(readEnvironment(variables))
  records = academy.records.list()
})

afterAll(async () => {
  await academy.close()
  await folder.remove()
})

const resultsOf = (jobType: string): readonly unknown[] =>
  records.filter((record) => record.jobType === jobType).map(({ result }) => result)

describe('the academy', () => {
  test('exits with 0 after all workers have stopped', () => {
    assert.equal(ended.code, 0, ended.stdout + ended.stderr)
    assert.match(ended.stdout, /stopped 3 workers, exit codes 0, 0, 0/)
    assert.equal(ended.stderr, '')
  })

  test('has completed every job', () => {
    assert.deepEqual(
      records.map(({ jobType, status, error }) => [jobType, status, error]),
      ['VIDEO', 'OCR', 'OMR', 'STATUS_DETECTION', 'OCR', 'VIDEO', 'OMR'].map((jobType) => [
        jobType,
        'COMPLETED',
        null,
      ]),
    )
  })

  test('tried the two bad uploads three times each, and once more after the redrive', () => {
    assert.deepEqual(
      records.map(({ attempts }) => attempts),
      [1, 1, 1, 1, 1, 4, 4],
    )
    assert.match(ended.stdout, /in academy-video-jobs-dlq: .*Invalid data found/)
    assert.match(
      ended.stdout,
      /in academy-ai-jobs-basic-dlq: .*does not show a complete answer sheet/,
    )
  })

  test('skipped the video that was submitted again', () => {
    assert.match(ended.stdout, /video worker +VIDEO video-123 skipped: it is already COMPLETED/)
  })

  test('has refused an OMR job for the lite tier', () => {
    assert.match(ended.stdout, /refused OMR in the lite tier: .*'lite' runs OCR/)
  })

  test('found the three pages of both videos and wrote their images', async () => {
    for (const result of resultsOf('VIDEO')) {
      assert.ok(typeof result === 'object' && result !== null && 'transitions' in result)
      assert.equal(Array.isArray(result.transitions) && result.transitions.length, 2)
    }
    for (const name of ['page-1.jpg', 'page-2.jpg', 'page-3.jpg', 'representative.jpg']) {
      for (const video of ['video-123', 'video-124']) {
        const file = academy.storage.path(`thumbnails/tenant-1/${video}/${name}`)
        assert.equal((await sharp(await readFile(file)).metadata()).format, 'jpeg')
      }
    }
  })

  test('read the page, with the positions of its lines for the premium tier', () => {
    const texts = resultsOf('OCR').map((result) => JSON.stringify(result))
    for (const text of texts) assert.match(text, /Mathematics, mid-term exam/)
    assert.deepEqual(
      texts.map((text) => text.includes('"lines"')),
      [false, true],
    )
  })

  test('read the marks of the student from the answer sheet', () => {
    for (const result of resultsOf('OMR')) {
      assert.ok(typeof result === 'object' && result !== null && 'answers' in result)
      assert.ok(Array.isArray(result.answers))
      assert.deepEqual(
        Object.fromEntries(result.answers.map(({ question, marks }) => [question, marks])),
        studentMarks,
      )
    }
  })

  test('detected that the sheet is only partly answered', () => {
    const [status] = resultsOf('STATUS_DETECTION')
    assert.match(JSON.stringify(status), /"status":"PARTIAL".*"answered":18,"empty":1,"multiple":1/)
  })

  test('left no message in any queue or dead-letter queue', async () => {
    for (const queue of Object.values(academy.mill.queues)) {
      const counts = [await queue.statistics(), await queue.deadLetters.statistics()]
      assert.deepEqual(
        counts.map((count) => count && [count.ready, count.leased, count.delayed]),
        [
          [0, 0, 0],
          [0, 0, 0],
        ],
      )
    }
  })
})
