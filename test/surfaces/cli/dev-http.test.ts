/** `dev` serves the HTTP routes of functions as API Gateway does. */
import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { describe, onTestFinished, test } from 'vitest'
import type { RequestReport } from '../../../src/server/dev.ts'
import { devScene } from './dev-scene.ts'

const api = `
export const echo = async (event, context) => ({
  statusCode: 201,
  headers: { 'X-Name': context.functionName },
  body: JSON.stringify(event),
})
export const plain = async () => ({ done: true })
export const text = async () => 'hello'
export const cookies = async () => ({
  statusCode: 302,
  headers: { location: '/' },
  multiValueHeaders: { 'x-many': ['1', '2'] },
  cookies: ['a=1; HttpOnly', 'b=2'],
})
export const bytes = async () => ({
  statusCode: 200,
  headers: { 'content-type': 'image/png' },
  body: Buffer.from([137, 80, 78, 71, 255]).toString('base64'),
  isBase64Encoded: true,
})
export const broken = async () => { throw new Error('no') }
export const wrong = async () => ({ body: { not: 'text' }, statusCode: 200 })
export const silent = async () => ({ body: 'no status' })
`

const serverless = `service: shop
provider:
  name: aws
  runtime: nodejs24.x
  stage: dev
  httpApi: { cors: true }
functions:
  echo:
    handler: api.echo
    events:
      - httpApi: 'POST /users/{id}'
      - httpApi: { method: get, path: '/files/{proxy+}' }
      - http: { method: put, path: 'orders/{id}', cors: true }
      - http: GET orders
  plain: { handler: api.plain, events: [{ httpApi: 'GET /plain' }, { http: 'GET old/plain' }] }
  text: { handler: api.text, events: [{ httpApi: 'GET /text' }] }
  cookies: { handler: api.cookies, events: [{ httpApi: 'GET /cookies' }] }
  bytes: { handler: api.bytes, events: [{ httpApi: 'GET /bytes' }] }
  broken: { handler: api.broken, events: [{ httpApi: 'GET /broken' }, { http: GET old/broken }] }
  wrong: { handler: api.wrong, events: [{ http: GET wrong }] }
  silent: { handler: api.silent, events: [{ httpApi: 'GET /silent' }, { http: GET old/silent }] }
  secret:
    handler: api.echo
    events:
      - httpApi: { method: GET, path: /secret, authorizer: { name: jwt } }
      - http: { method: get, path: keyed, private: true }
`

interface Scene {
  readonly reports: readonly RequestReport[]
  fetch(path: string, init?: RequestInit): Promise<Response>
}

async function openApi(text = serverless): Promise<Scene & Awaited<ReturnType<typeof devScene>>> {
  const reports: RequestReport[] = []
  const scene = await devScene(undefined, {
    files: { 'serverless.yml': text, 'api.mjs': api },
    declarations: ['serverless.yml'],
    onRequest: (report) => void reports.push(report),
  })
  const { apiUrl } = scene.dev
  assert.ok(apiUrl !== null)
  return { ...scene, reports, fetch: (path, init) => fetch(`${apiUrl}${path}`, init) }
}

/** The event that the function echoed. */
// biome-ignore lint/suspicious/noExplicitAny: tests read the fields that they expect.
async function eventIn(response: Response): Promise<any> {
  return response.json()
}

describe('an HTTP API', () => {
  test('passes a request on in format 2.0, and the response back', async () => {
    const { fetch, reports } = await openApi()
    const response = await fetch('/users/a%20b?x=1&x=2&y=ä', {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'X-Custom': 'C', cookie: 'a=1; b=2' },
      body: '{"n":1}',
    })
    assert.equal(response.status, 201)
    assert.equal(response.headers.get('x-name'), 'shop-dev-echo')
    assert.equal(response.headers.get('access-control-allow-origin'), '*')
    const { requestContext, headers, ...event } = JSON.parse(await response.text())
    assert.deepEqual(event, {
      version: '2.0',
      routeKey: 'POST /users/{id}',
      rawPath: '/users/a%20b',
      rawQueryString: 'x=1&x=2&y=%C3%A4',
      cookies: ['a=1', 'b=2'],
      queryStringParameters: { x: '1,2', y: 'ä' },
      pathParameters: { id: 'a b' },
      body: '{"n":1}',
      isBase64Encoded: false,
    })
    assert.deepEqual([headers['x-custom'], headers['cookie']], ['C', undefined])
    const { http, stage, accountId, routeKey } = requestContext
    assert.deepEqual(
      [http.method, http.path, stage, accountId, routeKey],
      ['POST', '/users/a%20b', '$default', '000000000000', 'POST /users/{id}'],
    )
    const [report] = reports
    assert.deepEqual(
      [report?.method, report?.status, report?.function],
      ['POST', 201, 'shop-dev-echo'],
    )
  })

  test('passes bytes as base64, in both directions', async () => {
    const { fetch } = await openApi()
    const headers = { 'content-type': 'application/octet-stream' }
    const body = new Uint8Array([0, 255, 1])
    const echoed = await eventIn(await fetch('/users/1', { method: 'POST', headers, body }))
    assert.deepEqual([echoed.body, echoed.isBase64Encoded], ['AP8B', true])
    const answer = await fetch('/bytes')
    assert.equal(answer.headers.get('content-type'), 'image/png')
    assert.deepEqual([...new Uint8Array(await answer.arrayBuffer())], [137, 80, 78, 71, 255])
  })

  test('makes a response of what has no status', async () => {
    const { fetch } = await openApi()
    const plain = await fetch('/plain')
    assert.deepEqual([plain.status, await plain.json()], [200, { done: true }])
    assert.match(plain.headers.get('content-type') ?? '', /application\/json/)
    assert.equal(await (await fetch('/text')).text(), 'hello')
    assert.deepEqual(await (await fetch('/silent')).json(), { body: 'no status' })
    const cookies = await fetch('/cookies', { redirect: 'manual' })
    assert.equal(cookies.status, 302)
    assert.deepEqual(cookies.headers.getSetCookie(), ['a=1; HttpOnly', 'b=2'])
    assert.equal(cookies.headers.get('x-many'), '1, 2')
  })

  test('responds itself to what it does not know, to errors and to preflight requests', async () => {
    const { fetch } = await openApi()
    const missing = await fetch('/nothing')
    assert.deepEqual([missing.status, await missing.json()], [404, { message: 'Not Found' }])
    const broken = await fetch('/broken')
    assert.deepEqual(
      [broken.status, await broken.json()],
      [500, { message: 'Internal Server Error' }],
    )
    const preflight = await fetch('/users/1', {
      method: 'OPTIONS',
      headers: { 'access-control-request-headers': 'x-one' },
    })
    assert.equal(preflight.status, 204)
    assert.equal(preflight.headers.get('access-control-allow-methods'), 'POST,OPTIONS')
    assert.equal(preflight.headers.get('access-control-allow-headers'), 'x-one')
    const large = await fetch('/users/1', { method: 'POST', body: 'x'.repeat(11 * 1_048_576) })
    assert.equal(large.status, 413)
  })
})

describe('a REST API', () => {
  test('passes a request on in format 1.0, with or without the stage', async () => {
    const { fetch } = await openApi()
    const response = await fetch('/dev/orders/7?x=1&x=2', {
      method: 'PUT',
      headers: { 'X-Custom': 'C' },
      body: 'text',
    })
    const { requestContext, headers, multiValueHeaders, ...event } = JSON.parse(
      await response.text(),
    )
    assert.deepEqual(event, {
      resource: '/orders/{id}',
      path: '/orders/7',
      httpMethod: 'PUT',
      queryStringParameters: { x: '2' },
      multiValueQueryStringParameters: { x: ['1', '2'] },
      pathParameters: { id: '7' },
      stageVariables: null,
      body: 'text',
      isBase64Encoded: false,
    })
    assert.deepEqual([headers['X-Custom'], multiValueHeaders['X-Custom']], ['C', ['C']])
    assert.deepEqual([requestContext.path, requestContext.stage], ['/dev/orders/7', 'dev'])
    const bare = await eventIn(await fetch('/orders'))
    assert.deepEqual(
      [bare.path, bare.body, bare.queryStringParameters, bare.pathParameters],
      ['/orders', null, null, null],
    )
  })

  test('refuses responses that are not in its format', async () => {
    const { fetch } = await openApi()
    const expected = [502, { message: 'Internal server error' }]
    for (const path of ['/old/plain', '/old/broken', '/old/silent', '/wrong']) {
      const response = await fetch(path)
      assert.deepEqual([response.status, await response.json()], expected, path)
    }
  })

  test('on its own reports a missing route itself', async () => {
    const { fetch } = await openApi(serverless.replaceAll(/^.*httpApi.*$/gm, ''))
    const missing = await fetch('/nothing')
    assert.deepEqual(
      [missing.status, await missing.json()],
      [403, { message: 'Missing Authentication Token' }],
    )
  })
})

describe('routes that cannot be served', () => {
  test('are refused with the reason: authorizers and API keys', async () => {
    const { told, fetch } = await openApi()
    await told(/warning .*GET \/secret of shop-dev-secret is not served: it has an authorizer/)
    await told(/warning .*GET \/keyed of shop-dev-secret is not served: it has an API key/)
    assert.equal((await fetch('/secret')).status, 404)
  })

  test('do not keep the queues from coming up when the port is taken', async () => {
    const other = createServer().listen(0, '127.0.0.1')
    await new Promise((resolve) => other.once('listening', resolve))
    onTestFinished(() => void other.close())
    const { port } = other.address() as AddressInfo
    const { dev, told } = await devScene(undefined, {
      files: { 'serverless.yml': serverless, 'api.mjs': api },
      declarations: ['serverless.yml'],
      apiPort: port,
    })
    await told(/warning .*HTTP requests are not served\..*--api-port/)
    assert.equal(dev.apiUrl, null)
  })
})

describe('SAM', () => {
  test('Api and HttpApi events are routes, with the settings of their APIs', async () => {
    const sam = `Transform: AWS::Serverless-2016-10-31
Globals: { HttpApi: { CorsConfiguration: true }, Function: { Runtime: nodejs22.x, CodeUri: . } }
Resources:
  Echo:
    Type: AWS::Serverless::Function
    Properties:
      FunctionName: echo
      Handler: api.echo
      Events:
        Old: { Type: Api, Properties: { Method: get, Path: /old } }
        New: { Type: HttpApi, Properties: { Method: GET, Path: /new } }
        First: { Type: HttpApi, Properties: { Method: ANY, Path: /first, PayloadFormatVersion: '1.0' } }
        Guarded: { Type: HttpApi, Properties: { Path: /g, Method: GET, Auth: { Authorizer: Jwt } } }
        Rest: { Type: HttpApi }
`
    const scene = await devScene(undefined, {
      files: { 'sam.yaml': sam, 'api.mjs': api },
      declarations: ['sam.yaml'],
    })
    const get = async (path: string) => eventIn(await fetch(`${scene.dev.apiUrl}${path}`))
    const old = await get('/Prod/old')
    assert.deepEqual([old.version, old.path, old.requestContext.stage], [undefined, '/old', 'Prod'])
    assert.equal((await get('/new')).routeKey, 'GET /new')
    assert.equal((await get('/first')).version, '1.0')
    assert.equal((await get('/anything/else')).routeKey, '$default')
    await scene.told(/GET \/g of echo is not served: it has an authorizer/)
  })
})
