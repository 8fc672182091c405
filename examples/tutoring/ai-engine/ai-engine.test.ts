/** The parts of the AI engine that replace models. All are deterministic. */
import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, describe, test } from 'vitest'
import { drawPage } from '../../shared/draw-page.ts'
import { classifyAttempt } from '../backend/rules/classify-attempt.ts'
import { errorCodes } from '../backend/rules/taxonomy.ts'
import { guidePdf } from '../demo/guide-pdf.ts'
import { alignSteps } from './align-steps.ts'
import { extractQuestions } from './extract-questions.ts'
import { makeExercises } from './make-exercises.ts'
import { pdfText } from './pdf-text.ts'
import { photoReader } from './read-photo.ts'
import { solveQuestion } from './solve-question.ts'

const sheet = [
  'Guide 4: equations (first part)',
  'Work in your notebook.',
  '1. Solve for x: 3x + 5 = 20',
  '2) Calculate 47 + 38',
  '3. Solve: 2(x - 3) = 14.',
  '4. Explain why.',
]

describe('a guide', () => {
  test('is read from its PDF, including brackets', () => {
    assert.deepEqual(pdfText(guidePdf(sheet)), sheet)
  })

  test('can be an uncompressed PDF, with split and hexadecimal text', () => {
    const content = 'BT 72 720 Td [(1. 3x) -20 ( = 1\\065)] TJ 0 -14 Td <32292032202b2032> Tj ET'
    const pdf = `%PDF-1.4\n4 0 obj\n<< /Length ${content.length} >>\nstream\n${content}\nendstream`
    assert.deepEqual(pdfText(Buffer.from(pdf)), ['1. 3x = 15', '2) 2 + 2'])
  })

  test('that is not a valid PDF is refused', () => {
    assert.throws(() => pdfText(Buffer.from('PK\u0003\u0004')), /not a PDF/)
    const broken = '%PDF-1.4\n1 0 obj\n<< /Filter /FlateDecode >>\nstream\nnonsense\nendstream'
    assert.throws(() => pdfText(Buffer.from(broken)), /cannot be unpacked/)
  })

  test('yields the numbered mathematical questions', () => {
    assert.deepEqual(extractQuestions(sheet), ['3x + 5 = 20', '47 + 38', '2(x - 3) = 14'])
  })
})

describe('a solution', () => {
  test.each([
    ['3x + 5 = 20', ['3x = 15', 'x = 5']],
    ['2(x - 3) = 14', ['2x - 6 = 14', '2x = 20', 'x = 10']],
    ['12x - 7 = 5x + 28', ['7x = 35', 'x = 5']],
    ['3x = 2', ['x = \\frac{2}{3}']],
    ['47 + 38', ['85']],
    ['2 + 3 \\cdot 4', ['2 + 12', '14']],
    ['\\frac{1}{2} + \\frac{3}{4}', ['\\frac{1}{2} + \\frac{3}{4}', '\\frac{5}{4}'].slice(1)],
    ['3x + 2x', ['5x']],
    ['8 - (2 - 5)', ['8 - (-3)', '11']],
  ])('of %s is %j', (statement, steps) => {
    assert.deepEqual(solveQuestion(statement), steps)
  })

  test('is correct according to the rule engine', () => {
    for (const { statement } of makeExercises({ seed: 's', errorCodes, count: 50 })) {
      const { isCorrect } = classifyAttempt(statement, solveQuestion(statement))
      assert.ok(isCorrect, statement)
    }
  })

  test.each(['x = x + 1', '1 / 0', 'x * x', 'five'])('of %s does not exist', (statement) => {
    assert.throws(() => solveQuestion(statement))
  })
})

describe('comparing work with a solution', () => {
  const statement = '2(x - 3) = 14'
  const solution = solveQuestion(statement)
  const align = (...lines: readonly string[]) => alignSteps({ statement, solution, lines })

  test.each([
    [['2x - 6 = 14', '2x = 20', 'x = 10'], 'solution', null, 1],
    [['x = 10'], 'solution', null, 1],
    [['x - 3 = 7', '10 = x'], 'other', null, 1],
    [['2x - 6 = 14', '2x = 8', 'x = 4'], 'wrong', 1, 1 / 3],
    [['2x - 3 = 14'], 'wrong', 0, 0],
    [['2x - 6 = 14', '2x = 20'], 'unfinished', 2, 2 / 3],
    [['2x - 6 = 14', 'and so on'], 'unreadable', 1, 1 / 3],
    [['x = 10', 'x = 11'], 'wrong', 2, 2 / 3],
    [[], 'unfinished', 0, 0],
  ])('%j: %s', (lines, path, checkpoint, score) => {
    assert.deepEqual(align(...lines), {
      path,
      first_error_checkpoint: checkpoint,
      score_0_1: score,
    })
  })

  test('supports calculations', () => {
    const sum = { statement: '2 + 3 * 4', solution: ['2 + 12', '14'] }
    assert.equal(alignSteps({ ...sum, lines: ['2 + 12 = 14'] }).score_0_1, 1)
    assert.equal(alignSteps({ ...sum, lines: ['20'] }).path, 'wrong')
  })
})

describe('a photo', () => {
  const reader = photoReader()
  afterAll(() => reader[Symbol.asyncDispose]())

  test('is read line by line, into LaTeX', async () => {
    const photo = await drawPage(['2(x - 3) = 14', '2x - 6 = 14', '6 * 7 = 42', 'x = 25/3'])
    const { lines, confidence } = await reader.read(photo)
    assert.deepEqual(lines, [
      '2(x - 3) = 14',
      '2x - 6 = 14',
      '6 \\cdot 7 = 42',
      'x = \\frac{25}{3}',
    ])
    assert.ok(confidence > 0.3 && confidence <= 1)
  })

  test('that is not an image is refused, and the next one is read', async () => {
    await assert.rejects(reader.read(Buffer.from('not a picture')), /unsupported image format/)
    assert.deepEqual((await reader.read(await drawPage(['x = 5']))).lines, ['x = 5'])
  })
})

describe('exercises', () => {
  test('are the same for the same seed, and differ for another', () => {
    const order = { errorCodes: ['ADD_CARRY_OMITTED', 'DISTRIBUTE_FIRST_ONLY'], count: 6 }
    const made = makeExercises({ ...order, seed: 'a' })
    assert.deepEqual(makeExercises({ ...order, seed: 'a' }), made)
    assert.notDeepEqual(makeExercises({ ...order, seed: 'b' }), made)
    assert.deepEqual(made.map(({ errorCode }) => errorCode).slice(0, 3), [
      'ADD_CARRY_OMITTED',
      'DISTRIBUTE_FIRST_ONLY',
      'ADD_CARRY_OMITTED',
    ])
  })

  test('provoke the requested mistake', () => {
    for (const { statement } of makeExercises({
      seed: 'x',
      errorCodes: ['ADD_CARRY_OMITTED'],
      count: 50,
    })) {
      const [left = '', right = ''] = statement.split(' + ')
      assert.ok(Number(left.at(-1)) + Number(right.at(-1)) > 9, statement)
    }
  })
})

test('the engine imports neither Millrace nor the backend', () => {
  const files = readdirSync(import.meta.dirname).filter((name) => !name.endsWith('.test.ts'))
  const imports = files.flatMap((name) => {
    const source = readFileSync(join(import.meta.dirname, name), 'utf8')
    return [...source.matchAll(/from '([^']+)'/g)].map(([, from = '']) => from)
  })
  const others = imports.filter(
    (from) => !/^(?:\.\/|\.\.\/math\/|\.\.\/\.\.\/shared\/|node:)/.test(from),
  )
  assert.deepEqual([...new Set(others)].sort(), ['@aws-sdk/client-sqs', 'zod'])
})
