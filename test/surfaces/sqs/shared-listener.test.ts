/** One listener for SQS and the HTTP API: each request goes where it is meant to go. */
import assert from 'node:assert/strict'
import { describe, test } from 'vitest'
import { jsonType, rawWire, signedBy } from './raw-wire.ts'

const wire = rawWire()

describe('the HTTP API', () => {
  test.each([
    ['GET', '/healthz', 200],
    ['GET', '/readyz', 200],
    ['GET', '/openapi.json', 200],
    ['GET', '/jobs', 404],
    ['GET', '/', 404],
    ['HEAD', '/', 404],
    ['GET', '/?page=2', 404],
    ['GET', '/123/orders', 404],
    ['POST', '/000000000000', 404],
  ])('answers %s %s', async (method, path, status) => {
    const answer = await wire.fetch(path, { method })
    assert.equal(answer.status, status)
    assert.equal(answer.headers.get('x-amzn-requestid'), null)
  })

  test.each([
    '/healthz',
    '/jobs',
    '/jobs/basic',
    '/switches',
    '/inbox/orders/claim',
    '/alarms',
    '/queues/orders/metrics',
    '/openapi.json?x=1',
  ])('answers forms on its own path %s', async (path) => {
    const form = { method: 'POST', body: new URLSearchParams({ Action: 'ListQueues' }) }
    assert.equal((await wire.fetch(path, form)).headers.get('x-amzn-requestid'), null)
  })

  test('answers JSON on paths that nobody has', async () => {
    const headers = { 'content-type': 'application/json' }
    const answer = await wire.fetch('/nope', { method: 'POST', headers, body: '{}' })
    assert.equal(answer.status, 404)
    assert.equal(answer.headers.get('x-amzn-requestid'), null)
  })
})

describe('the SQS wire', () => {
  const target = { 'x-amz-target': 'AmazonSQS.ListQueues' }

  test.each([
    ['a target', '/', { method: 'POST', headers: target }],
    ['a target on any path', '/healthz', { method: 'POST', headers: target }],
    ['the content type of AWS', '/', { method: 'POST', headers: { 'content-type': jsonType } }],
    ['a signature', '/healthz', { headers: signedBy('test') }],
    ['a signature in the address', '/?X-Amz-Algorithm=AWS4-HMAC-SHA256', {}],
    ['a signature in the address of any path', '/a/b?X-Amz-Algorithm=AWS4-HMAC-SHA256', {}],
    ['an action', '/?Version=2012-11-05&Action=ListQueues', {}],
    ['a form', '/', { method: 'POST', body: new URLSearchParams({ Action: 'ListQueues' }) }],
    ['the path of a queue', '/000000000000/orders', {}],
    ['a path with a region', '/queue/eu-west-1/000000000000/orders', {}],
    ['nothing but POST', '/', { method: 'POST' }],
    ['a method that nobody has at the root', '/', { method: 'DELETE' }],
  ] as const)('answers requests with %s', async (_mark, path, init) => {
    const answer = await wire.fetch(path, init)
    assert.match(answer.headers.get('x-amzn-requestid') ?? '', /^[0-9a-f-]{36}$/)
    assert.ok(answer.status < 500, answer.text)
  })
})
