import assert from 'node:assert/strict'
import { test } from 'vitest'
import { targetOf } from './request-target.ts'

test.each([
  ['/', { path: '/', query: '' }],
  ['/a/b', { path: '/a/b', query: '' }],
  ['/?a=b', { path: '/', query: 'a=b' }],
  ['/a?b=c?d', { path: '/a', query: 'b=c?d' }],
  ['http://host:1/a?b', { path: '/a', query: 'b' }],
  ['http://host', { path: '/', query: '' }],
  ['*', { path: '/', query: '' }],
])('the address %s has a path and a query', (url, target) =>
  assert.deepEqual(targetOf(url), target),
)
