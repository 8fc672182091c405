import assert from 'node:assert/strict'
import { describe, test } from 'vitest'
import { scopeOf } from './credential-scope.ts'

const credential = 'test/20260131/eu-central-1/sqs/aws4_request'

function inHeader(authorization: string) {
  return scopeOf({ method: 'POST', url: '/', rawHeaders: ['Authorization', authorization] })
}

function inQuery(query: string) {
  return scopeOf({ method: 'GET', url: `/000000000000/attempts?${query}`, rawHeaders: [] })
}

const scope = {
  accessKeyId: 'test',
  date: '20260131',
  region: 'eu-central-1',
  service: 'sqs',
  terminator: 'aws4_request',
}

describe('the scope of an unverified request', () => {
  test('is read from the header', () => {
    const rest = 'SignedHeaders=host, Signature=0'
    assert.deepEqual(inHeader(`AWS4-HMAC-SHA256 Credential=${credential}, ${rest}`), scope)
    assert.deepEqual(inHeader(`AWS4-HMAC-SHA256 ${rest},Credential=${credential}`), scope)
  })

  test('is read from the query, escaped or not', () => {
    assert.deepEqual(inQuery(`Action=X&X-Amz-Credential=${credential}`), scope)
    assert.deepEqual(inQuery(`X-Amz-Credential=${encodeURIComponent(credential)}&b`), scope)
  })

  test.each([
    '',
    'Basic dGVzdA==',
    'AWS4-HMAC-SHA256 Credential=test/20260131/sqs/aws4_request',
    'AWS4-HMAC-SHA256 Credential=/20260131/eu-central-1/sqs/aws4_request',
    'AWS4-HMAC-SHA256 Credential=test/20260131/../sqs/aws4_request',
    'AWS4-HMAC-SHA256 Credential=test/20260131/EU/sqs/aws4_request',
    `AWS4-HMAC-SHA256 Credential=test/20260131/${'r'.repeat(41)}/sqs/aws4_request`,
  ])('is none in %j', (authorization) => {
    assert.equal(inHeader(authorization), undefined)
  })

  test('is none without either', () => {
    assert.equal(inQuery('Action=ListQueues'), undefined)
    assert.equal(inQuery('X-Amz-Credential'), undefined)
  })
})
