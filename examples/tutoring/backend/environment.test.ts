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

  test('is refused with the names of all wrong variables and no values', () => {
    const wrong = { ANTHROPIC_BASE_URL: 'secret', SQS_OCR_QUEUE_URL: 'ocr-queue' }
    assert.throws(
      () => readEnvironment(wrong),
      ({ message }: Error) =>
        ['ANTHROPIC_BASE_URL', 'SQS_OCR_QUEUE_URL'].every((name) => message.includes(name)) &&
        !/secret|ocr-queue/.test(message),
    )
  })
})
