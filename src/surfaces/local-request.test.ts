import assert from 'node:assert/strict'
import { describe, test } from 'vitest'
import { isLoopback } from './local-request.ts'

describe('an address that only this machine can reach', () => {
  test.each(['127.0.0.1', '127.8.9.10', '::1', '0:0:0:0:0:0:0:1', 'localhost', 'LocalHost'])(
    'is %s',
    (host) => {
      assert.equal(isLoopback(host), true)
    },
  )

  test.each([
    '',
    '0.0.0.0',
    '::',
    '10.0.0.1',
    '128.0.0.1',
    '::2',
    '127.0.0.1.example.org',
    'localhost.example.org',
    '2130706433',
  ])('is not %j', (host) => {
    assert.equal(isLoopback(host), false)
  })
})
