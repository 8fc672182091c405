import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseEnv } from 'node:util'
import { describe, test } from 'vitest'
import { readEnvironment } from './environment.ts'

describe('the environment of the backend', () => {
  test('has the defaults of .env.example', () => {
    const example = parseEnv(readFileSync(join(import.meta.dirname, '../.env.example'), 'utf8'))
    const queues = Object.entries(readEnvironment({})).filter(([name]) => name.startsWith('SQS_'))
    assert.equal(queues.length, 8)
    for (const [name, url] of queues) assert.equal(example[name], url)
  })

  test.each([
    ['true', true],
    [' ON ', true],
    ['0', false],
    ['', false],
  ])('reads LLM_PAUSED=%j as %s', (LLM_PAUSED, isPaused) => {
    assert.equal(readEnvironment({ LLM_PAUSED }).LLM_PAUSED, isPaused)
  })

  test('is refused with the names of all wrong variables and no values', () => {
    const wrong = { LLM_PAUSED: 'perhaps', SQS_OCR_QUEUE_URL: 'ocr-queue', PORT: 'secret' }
    assert.throws(
      () => readEnvironment(wrong),
      ({ message }: Error) =>
        ['LLM_PAUSED', 'SQS_OCR_QUEUE_URL', 'PORT'].every((name) => message.includes(name)) &&
        !/perhaps|secret|ocr-queue/.test(message),
    )
  })
})
