import { assert, describe, it } from 'vitest'
import { assertTimesAsLong } from '../../test/support/processor-time.ts'
import { errorSummary } from './error-summary.ts'
import { limits } from './limits.ts'

describe('the summary of an error', () => {
  it('is its message, with the name of its class when that says something', () => {
    assert.equal(errorSummary(new Error('The disk is full.')), 'The disk is full.')
    assert.equal(
      errorSummary(new TypeError('x is not a function')),
      'TypeError: x is not a function',
    )
  })

  it.each([
    ['', 'An error without a message.'],
    [new Error(''), 'An error without a message.'],
    [undefined, 'A value of type undefined was thrown.'],
    [null, 'A value of type null was thrown.'],
    [{ password: 'x' }, 'A value of type object was thrown.'],
    ['a plain text', 'a plain text'],
  ])('has words for anything that can be thrown: %o', (thrown, expected) => {
    assert.equal(errorSummary(thrown), expected)
  })

  it('has no stack, no line breaks and no control characters', () => {
    const error = new Error('first\nsecond\u0000\u001b[31mthird\tfourth')
    assert.equal(errorSummary(error), 'first second [31mthird fourth')
  })

  it.each([
    ['connect to redis://admin:hunter2@10.0.0.1:6379 failed', 'hunter2'],
    ['401 for Authorization: Bearer abcdef1234567890', 'abcdef1234567890'],
    ['bad token eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJhbm5hIn0.c2lnbmF0dXJl', 'eyJzdWIiOiJhbm5hIn0'],
    ['the key AKIAIOSFODNN7EXAMPLE is unknown', 'AKIAIOSFODNN7EXAMPLE'],
    ['invalid api_key=abc123def', 'abc123def'],
    ['{"password": "correct horse"', 'correct'],
    ['AWS_SECRET_ACCESS_KEY=abc123def is refused', 'abc123def'],
    ['the accessToken: abc123def has expired', 'abc123def'],
    ['Cookie: session=abc123def', 'abc123def'],
    ['no mailbox for anna.smith@example.org', 'anna.smith'],
    [`the key sk-${'x1'.repeat(12)} was refused`, 'x1x1'],
  ])('hides what looks like a secret: %s', (text, secret) => {
    const summary = errorSummary(new Error(text))
    assert.notInclude(summary, secret)
    assert.match(summary, /\[hidden\]|\[e-mail\]/)
  })

  it('leaves what only looks like the name of a secret', () => {
    const text = 'tokens: 1200, token_type=bearer, compass: north, bypass=on, passed: 3'
    assert.equal(errorSummary(text), text)
  })

  it('takes the version of a package for no address', () => {
    const text = 'at parse (/node_modules/.pnpm/zod@4.1.0/index.js:3:1)'
    assert.equal(errorSummary(text), text)
    assert.equal(errorSummary('no route to root@10.0.0.1'), 'no route to [e-mail]')
  })

  it('hides the values that it is told to hide, the longest first', () => {
    const summary = errorSummary('no card 4111-1111 for 4111', ['4111', '4111-1111'])
    assert.equal(summary, 'no card [hidden] for [hidden]')
  })

  it('hides a token whole if a part of it is such a value', () => {
    const summary = errorSummary('401 for Basic dXNlcjpodW50ZXIy of x', ['podW50ZXIy'])
    assert.equal(summary, '401 for Basic [hidden] of x')
  })

  it('hides a value also where a long text is cut', () => {
    const secret = 'topsecret-'.repeat(30)
    const summary = errorSummary(`${secret} `.repeat(100), [secret])
    assert.notInclude(summary, 'topsecret')
    assert.include(summary, '[hidden] [hidden]')
  })

  it('is cut to the length that is stored, and stays well-formed', () => {
    const summary = errorSummary('💥'.repeat(5_000))
    assert.isAtMost(summary.length, limits.errorLength.max)
    assert.isTrue(summary.isWellFormed())
    assert.match(summary, /…$/)
    assert.isTrue(errorSummary('lone \ud800 surrogate').isWellFormed())
  })

  it.each<[string, (length: number) => string]>([
    ['at signs', (length) => 'a@'.repeat(length)],
    ['addresses without an end', (length) => `${'x://'.repeat(length)}@`],
    ['passwords', (length) => 'password='.repeat(length)],
  ])('takes no longer than the length of a hostile text explains: %s', async (_what, textOf) => {
    const [small, large] = [textOf(2_500), textOf(20_000)]
    // By the square of the length it would take 64 times as long.
    await assertTimesAsLong({
      work: () => errorSummary(large),
      reference: () => errorSummary(small),
      timesMax: 24,
    })
  })
})
