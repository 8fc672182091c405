import assert from 'node:assert/strict'
import { type MessageInput, messageCodec } from 'millrace'
import { describe, expectTypeOf, test } from 'vitest'
import { tutoring } from '../backend/app.ts'
import type * as messages from '../backend/messages.ts'

const id = 'f4a4e1de-6a0e-4a4e-8c51-0a4c0d2f9a11'
const other = '0b9d2a44-7a52-4b27-9d0b-5b7c2a8f3e21'
const trace_id = '1-67891233-abcdef012345678912345678'

const examples = {
  attemptStream: {
    attemptId: id,
    studentId: other,
    exerciseId: null,
    errorTagId: null,
    classifierSource: 'RULE',
    isCorrect: false,
    traceId: trace_id,
  },
  llmClassifyQueue: { attemptId: id, traceId: trace_id },
  guideIngestQueue: {
    guide_id: id,
    source_pdf_key: 'guides/uploads/2026/01/guide-4.pdf',
    course_grade_level: 5,
    trace_id,
  },
  solutionGenerationQueue: { guide_id: id, guide_question_id: null, trace_id },
  submissionGradeQueue: {
    guide_submission_id: id,
    guide_question_id: other,
    solution_version: 1,
    photo_keys: ['submissions/1.png', 'submissions/2.png'],
    trace_id,
  },
  exerciseGenerateQueue: {
    subdomain_code: 'FRACTIONS',
    grade_level: 5,
    target_error_codes: ['FRACTION_ADD_ACROSS'],
    count: 5,
    trace_id,
  },
  attemptReprocessQueue: {
    attempt_id: null,
    latex_steps: ['2x - 6 = 14', 'x = 12345678 + 87654321'],
    provider: 'gemini',
    confidence: 0.93,
    trace_id,
    guide_submission_id: id,
    guide_question_id: other,
    alignment_summary: { path: 'solution', first_error_checkpoint: null, score_0_1: 1 },
  },
} as const
type Key = keyof typeof examples
const keys = Object.keys(examples) as Key[]

/** `accepted`, or the code of the refusal. */
async function fate(key: Key, body: unknown): Promise<string> {
  try {
    await messageCodec(tutoring.queues[key]).decode(JSON.stringify(body))
    return 'accepted'
  } catch (error) {
    return error instanceof Error && 'code' in error ? String(error.code) : 'threw'
  }
}

describe('the seven messages', () => {
  test('have the specified fields and types', () => {
    expectTypeOf<messages.AttemptStreamMessage>().toEqualTypeOf<{
      attemptId: string
      studentId: string
      exerciseId: string | null
      errorTagId: string | null
      classifierSource: 'RULE' | 'LLM' | 'HUMAN'
      isCorrect: boolean
      traceId: string
    }>()
    expectTypeOf<messages.LlmClassifyMessage>().toEqualTypeOf<{
      attemptId: string
      traceId: string
    }>()
    expectTypeOf<messages.GuideIngestMessage>().toEqualTypeOf<{
      guide_id: string
      source_pdf_key: string
      course_grade_level: number
      trace_id: string
    }>()
    expectTypeOf<messages.SolutionGenMessage>().toEqualTypeOf<{
      guide_id: string
      guide_question_id: string | null
      trace_id: string
    }>()
    expectTypeOf<messages.SubmissionGradeMessage>().toEqualTypeOf<{
      guide_submission_id: string
      guide_question_id: string
      solution_version: number
      photo_keys: string[]
      trace_id: string
    }>()
    expectTypeOf<messages.ExerciseGenerateMessage>().toEqualTypeOf<{
      subdomain_code: string
      grade_level: number
      target_error_codes: string[]
      count: number
      trace_id: string
    }>()
    expectTypeOf<messages.AttemptReprocessMessage>().toEqualTypeOf<{
      attempt_id: string | null
      latex_steps: string[]
      provider: string
      confidence: number
      trace_id: string
      guide_submission_id?: string | undefined
      guide_question_id?: string | undefined
      alignment_summary?:
        | { path: string; first_error_checkpoint: number | null; score_0_1: number }
        | undefined
    }>()
    type Sent = MessageInput<typeof tutoring.queues.llmClassifyQueue>
    expectTypeOf<Sent>().toEqualTypeOf<messages.LlmClassifyMessage>()
  })

  test.each(keys)('are accepted: %s', async (key) => {
    assert.equal(await fate(key, examples[key]), 'accepted')
  })

  test.each(keys)('are refused with an extra field or a wrong type: %s', async (key) => {
    const example: Record<string, unknown> = examples[key]
    assert.equal(await fate(key, { ...example, extra: 1 }), 'invalid_message')
    for (const field of Object.keys(example)) {
      assert.equal(await fate(key, { ...example, [field]: {} }), 'invalid_message', field)
    }
  })

  test.each(keys)('are refused without a required field: %s', async (key) => {
    const example: Record<string, unknown> = examples[key]
    const optional = ['guide_submission_id', 'guide_question_id', 'alignment_summary']
    for (const field of Object.keys(example)) {
      if (key === 'attemptReprocessQueue' && optional.includes(field)) continue
      assert.equal(await fate(key, { ...example, [field]: undefined }), 'invalid_message', field)
    }
  })

  test.each(keys)('are refused with personal data: %s', async (key) => {
    for (const personal of [{ student_name: 'Ana' }, { note: 'ana@example.com' }]) {
      const message = { ...examples[key], ...personal }
      await assert.rejects(
        messageCodec(tutoring.queues[key]).decode(JSON.stringify(message)),
        /message\.(?:student_name|note): got a string, expected no .*: this contract allows no personal data/,
      )
    }
  })
})

describe('a reprocess message', () => {
  const { attempt_id: _, ...rest } = examples.attemptReprocessQueue
  const { guide_submission_id, guide_question_id, alignment_summary, ...legacy } = rest

  test('of the older format has an attempt and no guide', async () => {
    assert.equal(await fate('attemptReprocessQueue', { ...legacy, attempt_id: id }), 'accepted')
  })

  test('must have an attempt or a submission', async () => {
    const message = { ...legacy, attempt_id: null }
    assert.equal(await fate('attemptReprocessQueue', message), 'invalid_message')
  })
})

test('one to three photos belong to a submission', async () => {
  const grade = examples.submissionGradeQueue
  for (const [count, expected] of [
    [0, 'invalid_message'],
    [1, 'accepted'],
    [3, 'accepted'],
    [4, 'invalid_message'],
  ] as const) {
    const photo_keys = Array.from({ length: count }, (_, index) => `submissions/${index}.png`)
    assert.equal(await fate('submissionGradeQueue', { ...grade, photo_keys }), expected)
  }
})

test.each(['../secrets', '/etc/passwd', 'guides/uploads/../../x', 'guides//x', 'other/guide.pdf'])(
  '%s is not a valid guide key',
  async (source_pdf_key) => {
    const message = { ...examples.guideIngestQueue, source_pdf_key }
    assert.equal(await fate('guideIngestQueue', message), 'invalid_message')
  },
)
