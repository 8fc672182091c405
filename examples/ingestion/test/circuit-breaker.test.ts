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
  test('opens after three failures in a row, and refuses calls for 30 seconds', () => {
    const { breaker, pass } = breakerAt()
    assert.deepEqual([breaker.failed(busy), breaker.failed(busy)], [0, 0])
    assert.equal(breaker.failed(busy), 30_000)
    pass(29_999)
    assert.deepEqual(breaker.admit(), { admitted: false, waitMs: 1 })
    assert.equal(breaker.state, 'open')
  })

  test('counts only failures in a row', () => {
    const { breaker } = breakerAt()
    breaker.failed(busy)
    breaker.failed(busy)
    breaker.succeeded()
    assert.equal(breaker.failed(busy), 0)
    assert.equal(breaker.state, 'closed')
  })

  test('then lets one call through, whose success closes it', () => {
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

  test('opens for twice as long after a failed probe, at most ten minutes', () => {
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

  test('stays open at least as long as the provider asked', () => {
    const { breaker } = breakerAt()
    breaker.failed(busy)
    breaker.failed(busy)
    assert.equal(breaker.failed({ ...busy, retryAfterMs: 90_000 }), 90_000)
  })

  test('opens at once if the account is blocked', () => {
    const { breaker } = breakerAt()
    assert.equal(breaker.failed(blocked), 600_000)
  })

  test('does not stay open longer because of calls that started before it opened', () => {
    const at = breakerAt()
    open(at)
    at.pass(10_000)
    assert.equal(at.breaker.failed(busy), 20_000)
  })

  test('lets the next call probe if the first was undecided', () => {
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

  test('can contain the time to wait', () => {
    assert.equal(providerTrouble(errorOf(429, { 'retry-after': '7' }))?.retryAfterMs, 7_000)
  })

  test('about the request, or from another source, does not count', () => {
    assert.equal(providerTrouble(errorOf(400)), undefined)
    assert.equal(providerTrouble(new Error('disk full')), undefined)
    assert.equal(providerTrouble(new Anthropic.APIUserAbortError()), undefined)
  })

  test('of a failed connection counts as busy', () => {
    const error = new Anthropic.APIConnectionError({ message: 'refused' })
    assert.equal(providerTrouble(error)?.kind, 'busy')
  })
})
