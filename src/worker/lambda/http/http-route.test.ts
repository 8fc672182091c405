import assert from 'node:assert/strict'
import { describe, test } from 'vitest'
import { type HttpRoute, matchRoute } from './http-route.ts'

function route(method: string, path: string, changes: Partial<HttpRoute> = {}): HttpRoute {
  const plain = { api: 'http', payload: '2.0', stage: '$default', cors: false } as const
  return { function: `${method} ${path}`, method, path, ...plain, ...changes }
}

const routes = [
  route('ANY', '$default'),
  route('ANY', '/files/{proxy+}'),
  route('GET', '/files/{name}'),
  route('GET', '/files/index'),
  route('ANY', '/files/index'),
  route('GET', '/'),
  route('POST', '/users/{id}/notes/{note}'),
]

describe('the route of a request', () => {
  test.each([
    ['GET', '/', 'GET /', {}],
    ['GET', '/files/index', 'GET /files/index', {}],
    ['PUT', '/files/index', 'ANY /files/index', {}],
    ['GET', '/files/index/', 'GET /files/index', {}],
    ['GET', '/files/a%20b', 'GET /files/{name}', { name: 'a b' }],
    ['GET', '/files/a/b%2Fc', 'ANY /files/{proxy+}', { proxy: 'a/b/c' }],
    ['POST', '/users/7/notes/%', 'POST /users/{id}/notes/{note}', { id: '7', note: '%' }],
    ['GET', '/users/7/notes/1', 'ANY $default', {}],
    ['GET', '/files', 'ANY $default', {}],
  ])('%s %s is %s', (method, path, name, parameters) => {
    const match = matchRoute(routes, method, path)
    assert.deepEqual([match?.route.function, match?.parameters], [name, parameters])
  })

  test('of a REST API may begin with the stage', () => {
    const rest = [route('GET', '/users', { api: 'rest', stage: 'dev' })]
    assert.equal(matchRoute(rest, 'GET', '/users')?.path, '/users')
    assert.equal(matchRoute(rest, 'GET', '/dev/users')?.path, '/users')
    assert.equal(matchRoute(rest, 'GET', '/prod/users'), undefined)
    assert.equal(matchRoute([], 'GET', '/'), undefined)
  })
})
