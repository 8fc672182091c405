/** When the breaker opens, for how long, and what closes it. */
import assert from 'node:assert/strict'
import Anthropic from '@anthropic-ai/sdk'
import { describe, test } from 'vitest'
import { CircuitBreaker } from '../extractor/circuit-breaker.ts'
import { type ProviderTrouble, providerTrouble } from '../extractor/provider-trouble.ts'

const busy: ProviderTrouble = { kind: 'busy', code: '429', retryAfterMs: null, mayBeUnit: false }
const blocked: ProviderTrouble = { ...busy, kind: 'blocked', code: '401' }

function breakerAt(): { readonly breaker: CircuitBreaker; pass(ms: number): void } {
  let now = 0
  return {
    breaker: new CircuitBreaker({ now: () => now }),
    pass: (ms) => {
      now += ms
    },
  }
}

function open({ breaker }: ReturnType<typeof breakerAt>): void {
  for (let call = 0; call < 3; call += 1) breaker.failed(busy)
}

describe('the circuit breaker', () => {
  test('opens after three failures in a row, and lets nobody through for 30 seconds', () => {
    const { breaker, pass } = breakerAt()
    assert.deepEqual([breaker.failed(busy), breaker.failed(busy)], [0, 0])
    assert.equal(breaker.failed(busy), 30_000)
    pass(29_999)
    assert.deepEqual(breaker.admit(), { admitted: false, waitMs: 1 })
    assert.equal(breaker.state, 'open')
  })

  test('counts failures in a row only', () => {
    const { breaker } = breakerAt()
    breaker.failed(busy)
    breaker.failed(busy)
    breaker.succeeded()
    assert.equal(breaker.failed(busy), 0)
    assert.equal(breaker.state, 'closed')
  })

  test('then lets one call through, and is closed by its success', () => {
    const at = breakerAt()
    open(at)
    at.pass(30_000)
    assert.equal(at.breaker.state, 'half_open')
    assert.deepEqual(at.breaker.admit(), { admitted: true })
    assert.deepEqual(at.breaker.admit(), { admitted: false, waitMs: 1_000 })
    at.breaker.succeeded()
    assert.deepEqual(at.breaker.admit(), { admitted: true })
    assert.equal(at.breaker.state, 'closed')
  })

  test('is opened for twice as long by a probe that fails, ten minutes at most', () => {
    const at = breakerAt()
    open(at)
    const waits = [60_000, 120_000, 240_000, 480_000, 600_000, 600_000]
    let waitMs = 30_000
    for (const expected of waits) {
      at.pass(waitMs)
      at.breaker.admit()
      waitMs = at.breaker.failed(busy)
      assert.equal(waitMs, expected)
    }
  })

  test('waits at least as long as the provider asked for', () => {
    const { breaker } = breakerAt()
    breaker.failed(busy)
    breaker.failed(busy)
    assert.equal(breaker.failed({ ...busy, retryAfterMs: 90_000 }), 90_000)
  })

  test('opens at once when the account is blocked', () => {
    const { breaker } = breakerAt()
    assert.equal(breaker.failed(blocked), 600_000)
  })

  test('is not kept open by calls that were on their way when it opened', () => {
    const at = breakerAt()
    open(at)
    at.pass(10_000)
    assert.equal(at.breaker.failed(busy), 20_000)
  })

  test('gives the probe to the next one when it said nothing about the provider', () => {
    const at = breakerAt()
    open(at)
    at.pass(30_000)
    at.breaker.admit()
    at.breaker.undecided()
    assert.deepEqual(at.breaker.admit(), { admitted: true })
  })
})

describe('an error of the provider', () => {
  const errorOf = (status: number, headers: Record<string, string> = {}): unknown =>
    Anthropic.APIError.generate(status, undefined, undefined, new Headers(headers))

  test.each([
    [429, 'busy', false],
    [529, 'busy', false],
    [503, 'busy', false],
    [500, 'failing', true],
    [502, 'failing', true],
    [401, 'blocked', false],
    [402, 'blocked', false],
    [403, 'blocked', false],
  ])('%d means that it is %s', (status, kind, mayBeUnit) => {
    const trouble = providerTrouble(errorOf(status))
    assert.deepEqual([trouble?.kind, trouble?.mayBeUnit], [kind, mayBeUnit])
  })

  test('may say how long to wait', () => {
    assert.equal(providerTrouble(errorOf(429, { 'retry-after': '7' }))?.retryAfterMs, 7_000)
  })

  test('about the request, or of anybody else, says nothing about the provider', () => {
    assert.equal(providerTrouble(errorOf(400)), undefined)
    assert.equal(providerTrouble(new Error('disk full')), undefined)
    assert.equal(providerTrouble(new Anthropic.APIUserAbortError()), undefined)
  })

  test('that it could not be reached counts as busy', () => {
    const error = new Anthropic.APIConnectionError({ message: 'refused' })
    assert.equal(providerTrouble(error)?.kind, 'busy')
  })
})
