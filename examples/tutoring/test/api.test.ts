import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { describe, test } from 'vitest'
import { handler } from '../backend/handlers/api.ts'
import { exerciseId, openFixture, studentId, unknownId } from './fixture.ts'

describe('an attempt', () => {
  test('is classified in the request, and sent to telemetry', async () => {
    const { ask, mill } = await openFixture()
    const work = { studentId, exerciseId, steps: ['75'] }
    const { status, body } = await ask('POST', '/attempts', work)
    assert.deepEqual(
      [status, body['errorCode'], body['classifierSource'], body['status']],
      [201, 'ADD_CARRY_OMITTED', 'RULE', 'CLASSIFIED'],
    )
    const [delivery] = await mill.queues.attemptStream.receive()
    assert.equal(delivery?.group, body['id'])
    assert.deepEqual(delivery?.message, {
      attemptId: body['id'],
      studentId,
      exerciseId,
      errorTagId: body['errorTagId'],
      classifierSource: 'RULE',
      isCorrect: false,
      traceId: body['traceId'],
    })
    assert.equal((await mill.queues.llmClassifyQueue.statistics()).ready, 0)
  })

  test('that no rule explains goes to the language model, with only its id', async () => {
    const { attempt, mill } = await openFixture()
    const { id, traceId, status } = await attempt('58')
    assert.equal(status, 'UNCLASSIFIED')
    const [delivery] = await mill.queues.llmClassifyQueue.receive()
    assert.deepEqual(delivery?.message, { attemptId: id, traceId })
  })

  test('can be sent again by a client that got no response, and is one attempt', async () => {
    const { ask, mill } = await openFixture()
    const work = { attemptId: randomUUID(), studentId, exerciseId, steps: ['75'] }
    const first = await ask('POST', '/attempts', work)
    const second = await ask('POST', '/attempts', work)
    assert.deepEqual([first.status, second.status], [201, 200])
    assert.deepEqual(second.body, first.body)
    assert.equal((await mill.queues.attemptStream.statistics()).ready, 1)
  })

  test('of another student cannot reuse the id', async () => {
    const { ask } = await openFixture()
    const work = { attemptId: randomUUID(), studentId, exerciseId, steps: ['75'] }
    await ask('POST', '/attempts', work)
    const { status } = await ask('POST', '/attempts', { ...work, studentId: unknownId })
    assert.equal(status, 409)
  })

  test('keeps the trace id of its caller', async () => {
    const { backend } = await openFixture()
    const { createApi } = await import('../backend/api/create-api.ts')
    const response = await createApi(backend).request('/attempts', {
      method: 'POST',
      headers: { 'x-trace-id': '1-5759e988-bd862e3fe1be46a994272793' },
      body: JSON.stringify({ studentId, exerciseId, steps: ['85'] }),
    })
    assert.match(await response.text(), /"traceId":"1-5759e988-bd862e3fe1be46a994272793"/)
  })
})

describe('bad input', () => {
  const attempt = { studentId, exerciseId, steps: ['85'] }
  test.each([
    ['/attempts', 'not json', ['']],
    ['/attempts', [], ['']],
    ['/attempts', { ...attempt, studentId: 'ana' }, ['studentId']],
    ['/attempts', { ...attempt, steps: [] }, ['steps']],
    ['/attempts', { ...attempt, steps: ['x'.repeat(301)] }, ['steps.0']],
    ['/attempts', { ...attempt, studentName: 'Ana' }, ['']],
    ['/attempts', { steps: 'x' }, ['studentId', 'exerciseId', 'steps']],
    [
      '/guides',
      { teacherId: unknownId, sourcePdfKey: 'x.pdf', courseGradeLevel: 5 },
      ['sourcePdfKey'],
    ],
    ['/submissions', { studentId, guideQuestionId: unknownId, photoKeys: [] }, ['photoKeys']],
    [
      '/items/generate',
      { subdomainCode: 'ADDITION', gradeLevel: 5, targetErrorCodes: ['NONSENSE'], count: 0 },
      ['targetErrorCodes.0', 'count'],
    ],
    [
      '/items',
      { statement: '', subdomainCode: 'x', gradeLevel: 13 },
      ['statement', 'subdomainCode', 'gradeLevel'],
    ],
  ])('at %s is refused with the paths of all wrong fields: %j', async (path, body, paths) => {
    const { ask, mill } = await openFixture()
    const answer = await ask('POST', path, body)
    assert.deepEqual([answer.status, answer.body['error']], [400, 'invalid_request'])
    const issues = answer.body['issues']
    assert.ok(Array.isArray(issues))
    assert.deepEqual(
      issues.map((issue) => issue.path),
      paths,
    )
    const statistics = await Promise.all(Object.values(mill.queues).map((one) => one.statistics()))
    assert.ok(statistics.every(({ ready }) => ready === 0))
  })

  test('with personal data is refused with its path, and nothing is stored or sent', async () => {
    const { ask, mill } = await openFixture()
    const sourcePdfKey = 'guides/uploads/ana.perez@example.com.pdf'
    const guide = { teacherId: studentId, sourcePdfKey, courseGradeLevel: 5 }
    const { status, body } = await ask('POST', '/guides', guide)
    assert.deepEqual([status, body['error']], [400, 'invalid_message'])
    assert.match(JSON.stringify(body), /message\.source_pdf_key.*no e-mail address/)
    assert.doesNotMatch(JSON.stringify(body), /ana\.perez/)
    assert.equal((await mill.queues.guideIngestQueue.statistics()).ready, 0)
  })

  test.each(['/attempts/x', `/attempts/${unknownId}`, `/guides/${unknownId}`, '/nowhere'])(
    '%s is not found',
    async (path) => {
      const { ask } = await openFixture()
      assert.deepEqual(await ask('GET', path), { status: 404, body: { error: 'not_found' } })
    },
  )

  test('that is too large is cut off', async () => {
    const { ask } = await openFixture()
    const { status } = await ask('POST', '/attempts', { steps: ['x'.repeat(70_000)] })
    assert.equal(status, 400)
  })
})

describe('guides and submissions', () => {
  test('go through their states in order', async () => {
    const { ask, mill } = await openFixture()
    const guide = {
      teacherId: studentId,
      sourcePdfKey: 'guides/uploads/1.pdf',
      courseGradeLevel: 5,
    }
    const { status, body } = await ask('POST', '/guides', guide)
    assert.deepEqual([status, body['status']], [202, 'INGESTING'])
    const [ingest] = await mill.queues.guideIngestQueue.receive()
    assert.equal(ingest?.message.guide_id, body['id'])
    // No question was extracted yet.
    assert.equal((await ask('POST', `/guides/${body['id']}/approval`)).status, 409)
    assert.equal((await ask('POST', `/guides/${body['id']}/solutions`)).status, 409)
    const submission = { studentId, guideQuestionId: unknownId, photoKeys: ['a.png'] }
    assert.equal((await ask('POST', '/submissions', submission)).status, 404)
  })
})

test('without a connection to the queues the API returns 503, and the attempt can be retried', async () => {
  const { ask, backend, variables } = await openFixture()
  const { createApi } = await import('../backend/api/create-api.ts')
  const { openBackend } = await import('../backend/open-backend.ts')
  const nowhere = 'http://127.0.0.1:1/000000000000/gone'
  using cutOff = openBackend({ ...variables, SQS_ATTEMPT_STREAM_URL: nowhere })
  const work = { attemptId: randomUUID(), studentId, exerciseId, steps: ['75'] }
  const init = { method: 'POST', body: JSON.stringify(work) }
  const response = await createApi(cutOff).request('/attempts', init)
  assert.deepEqual([response.status, await response.json()], [503, { error: 'unavailable' }])
  assert.equal(backend.stores.attempts.get(work.attemptId)?.isCorrect, false)
  assert.equal((await ask('POST', '/attempts', work)).status, 200)
})

test('the same API runs as a Lambda function', async () => {
  const { variables } = await openFixture()
  const { vi } = await import('vitest')
  for (const [name, value] of Object.entries(variables)) vi.stubEnv(name, value)
  const answer = await handler({
    version: '2.0',
    routeKey: '$default',
    rawPath: '/healthz',
    rawQueryString: '',
    headers: { host: 'api.example' },
    isBase64Encoded: false,
    requestContext: {
      accountId: '000000000000',
      apiId: 'api',
      authentication: null,
      authorizer: {},
      domainName: 'api.example',
      domainPrefix: 'api',
      http: {
        method: 'GET',
        path: '/healthz',
        protocol: 'HTTP/1.1',
        sourceIp: '127.0.0.1',
        userAgent: 'test',
      },
      requestId: 'r-1',
      routeKey: '$default',
      stage: '$default',
      time: '',
      timeEpoch: 0,
    },
    body: null,
  })
  assert.deepEqual([answer.statusCode, answer.body], [200, '{"status":"ok"}'])
})
