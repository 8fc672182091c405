import assert from 'node:assert/strict'
import { describe, test } from 'vitest'
import { type Marks, scanAnswerSheet } from '../inputs/draw-answer-sheet.ts'
import { drawPage } from '../inputs/draw-page.ts'
import { choices, sheet } from './answer-sheet.ts'
import { detectStatus } from './detect-status.ts'
import { readAnswers } from './read-answers.ts'

const everyQuestion: Marks = Object.fromEntries(
  Array.from({ length: sheet.questions }, (_, index) => [
    index + 1,
    choices.slice(index % 5, (index % 5) + 1),
  ]),
)
/** Question 3 is empty, and question 7 has two marks. */
const withMistakes: Marks = { ...everyQuestion, 3: [], 7: ['A', 'C'] }
const scan = await scanAnswerSheet(withMistakes)

function marksIn(marks: Marks): readonly (readonly string[])[] {
  return Array.from({ length: sheet.questions }, (_, index) => marks[index + 1] ?? [])
}

describe('reading an answer sheet', () => {
  test.each([-3, 91, 181, 268])(
    'finds every mark on a sheet turned by %s degrees',
    async (turned) => {
      const read = await readAnswers(await scanAnswerSheet(withMistakes, { turned }))
      assert.ok(read)
      assert.equal(read.turned, (Math.round(turned / 90) * 90 + 360) % 360)
      assert.deepEqual(
        read.answers.map(({ marks }) => marks),
        marksIn(withMistakes),
      )
      assert.ok(read.confidence > 0.5, `confidence ${read.confidence}`)
    },
  )

  test('reports a question without marks as empty, and one with two marks as multiple', async () => {
    const read = await readAnswers(scan)
    const odd = read?.answers.filter(({ state }) => state !== 'marked')
    assert.deepEqual(
      odd?.map(({ question, state }) => [question, state]),
      [
        [3, 'empty'],
        [7, 'multiple'],
      ],
    )
  })

  test('has a lower confidence for a blurred scan', async () => {
    const sharpRead = await readAnswers(scan)
    const blurred = await readAnswers(await scanAnswerSheet(withMistakes, { blur: 4 }))
    assert.ok(sharpRead && blurred)
    assert.ok(blurred.confidence < sharpRead.confidence)
  })

  test('returns undefined for a page that is not an answer sheet', async () => {
    const page = { title: 'Minutes', lines: ['of the meeting'] }
    assert.equal(await readAnswers(await drawPage(page, { width: 744, height: 1052 })), undefined)
  })
})

describe('the status of a submitted sheet', () => {
  test.each([
    ['BLANK', {}, { answered: 0, empty: 20, multiple: 0 }],
    ['PARTIAL', withMistakes, { answered: 18, empty: 1, multiple: 1 }],
    ['COMPLETE', everyQuestion, { answered: 20, empty: 0, multiple: 0 }],
  ] as const)('is %s depending on the marks', async (status, marks, counts) => {
    const found = await detectStatus(await scanAnswerSheet(marks))
    const { answered, empty, multiple, turned, problem } = found
    assert.equal(found.status, status)
    assert.deepEqual({ answered, empty, multiple }, counts)
    assert.deepEqual({ turned, problem }, { turned: 0, problem: null })
  })

  test('reports that a sheet is upside down', async () => {
    const found = await detectStatus(await scanAnswerSheet(withMistakes, { turned: 180 }))
    assert.equal(found.turned, 180)
    assert.equal(found.answered, 18)
  })

  test.each([
    ['blurred', { blur: 4 }],
    ['pale', { ink: 200 }],
  ] as const)('is UNREADABLE if the scan is %s', async (problem, options) => {
    const found = await detectStatus(await scanAnswerSheet(withMistakes, options))
    assert.deepEqual([found.status, found.problem], ['UNREADABLE', problem])
  })

  test('is UNREADABLE if the page is not an answer sheet', async () => {
    const page = { title: 'Minutes', lines: ['of the meeting'] }
    const found = await detectStatus(await drawPage(page, { width: 744, height: 1052 }))
    assert.deepEqual([found.status, found.problem], ['UNREADABLE', 'no answer sheet'])
  })
})
