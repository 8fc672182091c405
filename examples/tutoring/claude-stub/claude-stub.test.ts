/** The classifier with Anthropic's SDK, against the stub. */
import assert from 'node:assert/strict'
import Anthropic from '@anthropic-ai/sdk'
import { afterEach, beforeEach, describe, test } from 'vitest'
import { z } from 'zod'
import { claudeClassifier, type ErrorClassifier } from '../backend/services/claude-classifier.ts'
import { ClaudeStub } from './claude-stub.ts'

const Answer = z.object({
  type: z.string(),
  error: z.object({ type: z.string(), message: z.string() }).optional(),
})

let claude: ClaudeStub
let classifier: ErrorClassifier

beforeEach(async () => {
  claude = await ClaudeStub.start()
  classifier = claudeClassifier({
    ANTHROPIC_API_KEY: 'test',
    ANTHROPIC_BASE_URL: claude.url,
    ANTHROPIC_MODEL: 'claude-sonnet-5-5',
  })
})
afterEach(() => claude[Symbol.asyncDispose]())

describe('the classifier', () => {
  test.each([
    ['47 + 38', ['58'], 'DIGITS_TRANSPOSED'],
    ['47 + 38', ['86'], 'CALCULATION_SLIP'],
    ['3x + 5 = 20', ['x = 71'], 'CONCEPT_NOT_UNDERSTOOD'],
    ['47 + 38', ['eighty-five'], 'UNREADABLE'],
  ])('classifies %s: %j', async (exercise, lines, code) => {
    const { errorCode, confidence } = await classifier.classify({ exercise, lines })
    assert.equal(errorCode, code)
    assert.ok(confidence > 0 && confidence <= 1)
  })

  test('asks with the model of its settings, one tool, and the codes of the taxonomy', async () => {
    await classifier.classify({ exercise: '47 + 38', lines: ['58'] })
    const [request] = claude.requests
    assert.equal(request?.model, 'claude-sonnet-5-5')
    assert.deepEqual(request?.tool_choice, { type: 'tool', name: 'classify_error' })
    const schema = request?.tools?.[0]?.input_schema.properties?.['error_code']
    assert.ok(Array.isArray(schema?.['enum']) && schema['enum'].includes('CALCULATION_SLIP'))
  })

  test.each([429, 529, 500] as const)('retries after a %d', async (status) => {
    claude.failNext(status)
    const { errorCode } = await classifier.classify({ exercise: '47 + 38', lines: ['58'] })
    assert.equal(errorCode, 'DIGITS_TRANSPOSED')
    assert.equal(claude.requests.length, 2)
  })

  test('rejects after three requests', async () => {
    claude.failNext(429, 429, 429)
    const failing = classifier.classify({ exercise: '47 + 38', lines: ['58'] })
    await assert.rejects(failing, Anthropic.RateLimitError)
    assert.equal(claude.requests.length, 3)
  })
})

describe('the server', () => {
  const body = {
    model: 'claude-sonnet-5-5',
    max_tokens: 10,
    messages: [{ role: 'user', content: 'Exercise: 1 + 1' }],
  }
  const headers = { 'x-api-key': 'test', 'anthropic-version': '2023-06-01' }
  const ask = async (with_: object, sent: Record<string, string> = headers) => {
    const answer = await fetch(`${claude.url}/v1/messages`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...sent },
      body: JSON.stringify({ ...body, ...with_ }),
    })
    const { type, error } = Answer.parse(await answer.json())
    return [answer.status, type, error?.type]
  }

  test('returns the response of the real service', async () => {
    assert.deepEqual(await ask({}), [200, 'message', undefined])
  })

  test.each([
    ['no model', { model: undefined }],
    ['no max_tokens', { max_tokens: undefined }],
    ['no messages', { messages: [] }],
    ['an assistant message first', { messages: [{ role: 'assistant', content: 'hi' }] }],
    ['a tool without a schema', { tools: [{ name: 'a' }] }],
    ['a choice of a missing tool', { tool_choice: { type: 'tool', name: 'a' } }],
  ])('refuses a request with %s', async (_what, change) => {
    assert.deepEqual(await ask(change), [400, 'error', 'invalid_request_error'])
  })

  test('refuses a request without its headers', async () => {
    const { 'x-api-key': key, 'anthropic-version': version } = headers
    const withKey = { 'x-api-key': key }
    const withVersion = { 'anthropic-version': version }
    assert.deepEqual(await ask({}, withKey), [400, 'error', 'invalid_request_error'])
    assert.deepEqual(await ask({}, withVersion), [401, 'error', 'authentication_error'])
  })

  test('has no other routes', async () => {
    assert.equal((await fetch(`${claude.url}/v1/models`)).status, 404)
  })
})
