import assert from 'node:assert/strict'
import { describe, test } from 'vitest'
import { mountAcademy } from './mounted.ts'
import { keys, token } from './scene.ts'

describe('the log of the API', () => {
  test('has one line for each request, with the route and never the address', async () => {
    const api = await mountAcademy()
    const headers = { 'x-request-id': 'r-1' }
    await api.call('/jobs/private-id?private=1', { key: keys.alice, headers })
    assert.equal(api.log.length, 1)
    const [line] = api.log
    assert.equal(line?.message, 'request')
    const { duration_ms, ...fields } = line?.fields ?? {}
    assert.equal(typeof duration_ms, 'number')
    assert.deepEqual(fields, {
      method: 'GET',
      route: '/jobs/:id',
      status: 404,
      caller: 'alice',
      request_id: 'r-1',
    })
  })

  test('names keys and kinds of credentials, never what they are or whose', async () => {
    const api = await mountAcademy()
    const bearer = await token({ sub: 'private-subject' })
    await api.call('/jobs', { headers: { authorization: `Bearer ${bearer}` } })
    await api.call('/jobs', { key: keys.bob })
    await api.call('/jobs', { key: 'private-wrong-key' })
    await api.call('/private')
    await api.enqueue({ owner: 'private-owner', payload: { examId: 'private' } })
    assert.deepEqual(
      api.log.map(({ fields }) => [fields['caller'], fields['status'], fields['route']]),
      [
        ['jwt', 200, '/jobs'],
        ['bobs-laptop', 200, '/jobs'],
        [null, 401, '/jobs'],
        [null, 404, '/*'],
        ['root', 202, '/jobs/:queue'],
      ],
    )
    const written = JSON.stringify(api.log)
    for (const word of ['private', bearer, ...Object.values(keys)]) {
      assert.ok(!written.includes(word), word)
    }
  })
})

describe('the API below another path', () => {
  test('answers there and nowhere else, and tells addresses that lead back', async () => {
    const api = await mountAcademy({ basePath: '/api/v1' })
    const { status, headers } = await api.enqueue({ owner: 'alice' })
    assert.equal(status, 202)
    const location = headers.get('location') ?? ''
    assert.match(location, /^\/api\/v1\/jobs\//)
    assert.equal((await api.call(location, { key: keys.alice })).status, 200)
    assert.equal((await api.call('/jobs', { key: keys.alice })).status, 404)
    const { body } = await api.call('/api/v1/openapi.json', { key: keys.alice })
    assert.ok('/api/v1/jobs/{id}' in body.paths)
  })
})
