/** The routes of the example itself, without the jobs API. */
import assert from 'node:assert/strict'
import { readdir } from 'node:fs/promises'
import { describe, test } from 'vitest'
import { ada, addDocument, bob, openFixture } from './fixture.ts'

const picture = new Uint8Array([1, 2, 3])

describe('the routes of the system', () => {
  test('return 401 without a valid token', async () => {
    const { url } = await (await openFixture()).startApi()
    for (const path of [
      '/documents/x',
      '/search?q=x',
      '/courses/x',
      '/notifications',
      '/nothing',
    ]) {
      assert.equal((await fetch(url + path)).status, 401)
      const headers = { authorization: 'Bearer e30.e30.e30' }
      assert.equal((await fetch(url + path, { headers })).status, 401)
    }
  })

  test('show a document and a course only to their owner', async () => {
    const fixture = await openFixture()
    const api = await fixture.startApi()
    const document = await addDocument(fixture, 'Scan')
    const course = fixture.services.courses.create({ owner: 'ada', topic: 'Mills', modules: 1 })
    const [asAda, asBob] = [await api.as(ada), await api.as(bob)]
    for (const path of [`/documents/${document}`, `/courses/${course}`]) {
      assert.equal((await asAda('GET', path)).status, 200)
      assert.equal((await asBob('GET', path)).status, 404)
    }
    assert.equal((await asBob('DELETE', `/documents/${document}`)).status, 404)
    const task = { task: 'summary' }
    assert.equal((await asBob('POST', `/documents/${document}/ai`, task)).status, 404)
  })

  test('remove a deleted document from the search', async () => {
    const fixture = await openFixture()
    const ask = await (await fixture.startApi()).as(ada)
    const document = await addDocument(fixture, 'Scan')
    fixture.services.search.indexDocument(document)
    assert.match((await ask('GET', '/search?q=scan')).text, new RegExp(document))
    fixture.startWorker()
    const { status, body } = await ask('DELETE', `/documents/${document}`)
    assert.equal(status, 202)
    const job = await fixture.mill.jobs.waitFor(String(body['job_id']))
    assert.deepEqual(job.result, { indexed: 'removed' })
    assert.deepEqual((await ask('GET', '/search?q=scan')).body, { items: [] })
  })

  test('refuse an AI task without credits, and run one with credits', async () => {
    const fixture = await openFixture()
    const ask = await (await fixture.startApi()).as(ada)
    const document = await addDocument(fixture, 'Scan')
    fixture.services.documents.saveText(document, 'The wheel turns. It grinds.')
    const task = { task: 'summary' }
    const { body } = await ask('POST', `/documents/${document}/ai`, task)
    fixture.startWorker()
    const job = await fixture.mill.jobs.waitFor(String(body['job_id']))
    assert.deepEqual([job.status, job.result], ['completed', { stored: true }])
    assert.equal(fixture.services.outputs.find(document, 'summary'), 'The wheel turns.')
    assert.equal(fixture.services.users.creditsOf('ada'), 99)

    fixture.services.users.save({ id: 'ada', email: 'ada@example.com' }, 0)
    assert.equal((await ask('POST', `/documents/${document}/ai`, { task: 'keywords' })).status, 402)
  })

  test('refuse wrong input, and store nothing', async () => {
    const fixture = await openFixture()
    const ask = await (await fixture.startApi()).as(ada)
    assert.equal((await ask('POST', '/documents', picture)).status, 400)
    assert.equal((await ask('POST', '/courses', { topic: 'Mills', modules: 0 })).status, 400)
    assert.equal((await ask('POST', '/courses', { topic: 'Mills', modules: 1, x: 1 })).status, 400)
    const document = await addDocument(fixture, 'Scan')
    assert.equal((await ask('POST', `/documents/${document}/ai`, { task: 'poem' })).status, 400)
    for (const queue of ['ocr_queue', 'course_generation_queue', 'ai_processing_queue'] as const) {
      assert.equal((await fixture.mill.jobs.list(queue)).items.length, 0)
    }
  })

  test('delete an upload whose job could not be enqueued', async () => {
    const fixture = await openFixture({ busyTimeoutMs: 100 })
    const ask = await (await fixture.startApi()).as(ada)
    const repair = fixture.store.break()
    const { status, headers, text } = await ask('POST', '/documents?title=Scan', picture)
    assert.deepEqual([status, headers.get('retry-after')], [503, '5'])
    assert.doesNotMatch(text, /queue|store|sqlite/i)
    await repair()
    assert.deepEqual(await readdir(fixture.services.documents.folder), [])
  })

  test('limit the requests of a user', async () => {
    const fixture = await openFixture()
    const api = await fixture.startApi()
    const [asAda, asBob] = [await api.as(ada), await api.as(bob)]
    const statuses: number[] = []
    for (let index = 0; index < 61; index += 1) {
      statuses.push((await asAda('POST', '/courses', {})).status)
    }
    assert.deepEqual([statuses[59], statuses[60]], [400, 429])
    assert.equal((await asBob('POST', '/courses', {})).status, 400)
  })
})
