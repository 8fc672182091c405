/** What users ask of the system itself, beside the jobs API. */
import assert from 'node:assert/strict'
import { readdir } from 'node:fs/promises'
import { DatabaseSync } from 'node:sqlite'
import { describe, test } from 'vitest'
import { ada, addDocument, bob, openScene } from './scene.ts'

const picture = new Uint8Array([1, 2, 3])

describe('the routes of the system', () => {
  test('are closed without a valid token', async () => {
    const { url } = await (await openScene()).startApi()
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

  test('show a document and a course to their owner alone', async () => {
    const scene = await openScene()
    const api = await scene.startApi()
    const document = await addDocument(scene, 'Scan')
    const course = scene.services.courses.create({ owner: 'ada', topic: 'Mills', modules: 1 })
    const [asAda, asBob] = [await api.as(ada), await api.as(bob)]
    for (const path of [`/documents/${document}`, `/courses/${course}`]) {
      assert.equal((await asAda('GET', path)).status, 200)
      assert.equal((await asBob('GET', path)).status, 404)
    }
    assert.equal((await asBob('DELETE', `/documents/${document}`)).status, 404)
    const task = { task: 'summary' }
    assert.equal((await asBob('POST', `/documents/${document}/ai`, task)).status, 404)
  })

  test('take a deleted document out of the search', async () => {
    const scene = await openScene()
    const ask = await (await scene.startApi()).as(ada)
    const document = await addDocument(scene, 'Scan')
    scene.services.search.indexDocument(document)
    assert.match((await ask('GET', '/search?q=scan')).text, new RegExp(document))
    scene.startWorker()
    const { status, body } = await ask('DELETE', `/documents/${document}`)
    assert.equal(status, 202)
    const job = await scene.mill.jobs.waitFor(String(body['job_id']))
    assert.deepEqual(job.result, { indexed: 'removed' })
    assert.deepEqual((await ask('GET', '/search?q=scan')).body, { items: [] })
  })

  test('sell no AI task to those without credits, and run one for those with', async () => {
    const scene = await openScene()
    const ask = await (await scene.startApi()).as(ada)
    const document = await addDocument(scene, 'Scan')
    scene.services.documents.saveText(document, 'The wheel turns. It grinds.')
    const task = { task: 'summary' }
    const { body } = await ask('POST', `/documents/${document}/ai`, task)
    scene.startWorker()
    const job = await scene.mill.jobs.waitFor(String(body['job_id']))
    assert.deepEqual([job.status, job.result], ['completed', { stored: true }])
    assert.equal(scene.services.outputs.find(document, 'summary'), 'The wheel turns.')
    assert.equal(scene.services.users.creditsOf('ada'), 99)

    scene.services.users.save({ id: 'ada', email: 'ada@example.com' }, 0)
    assert.equal((await ask('POST', `/documents/${document}/ai`, { task: 'keywords' })).status, 402)
  })

  test('refuse what does not fit, and store nothing of it', async () => {
    const scene = await openScene()
    const ask = await (await scene.startApi()).as(ada)
    assert.equal((await ask('POST', '/documents', picture)).status, 400)
    assert.equal((await ask('POST', '/courses', { topic: 'Mills', modules: 0 })).status, 400)
    assert.equal((await ask('POST', '/courses', { topic: 'Mills', modules: 1, x: 1 })).status, 400)
    const document = await addDocument(scene, 'Scan')
    assert.equal((await ask('POST', `/documents/${document}/ai`, { task: 'poem' })).status, 400)
    for (const queue of ['ocr_queue', 'course_generation_queue', 'ai_processing_queue'] as const) {
      assert.equal((await scene.mill.jobs.list(queue)).items.length, 0)
    }
  })

  test('keep nothing of an upload whose work could not be enqueued', async () => {
    const scene = await openScene({ busyTimeoutMs: 100 })
    const ask = await (await scene.startApi()).as(ada)
    using intruder = new DatabaseSync(scene.store)
    intruder.exec('BEGIN IMMEDIATE')
    const { status, headers, text } = await ask('POST', '/documents?title=Scan', picture)
    assert.deepEqual([status, headers.get('retry-after')], [503, '5'])
    assert.doesNotMatch(text, /queue|store|sqlite/i)
    intruder.exec('ROLLBACK')
    assert.deepEqual(await readdir(scene.services.documents.folder), [])
  })

  test('limit how much work a user may ask for', async () => {
    const scene = await openScene()
    const api = await scene.startApi()
    const [asAda, asBob] = [await api.as(ada), await api.as(bob)]
    const statuses: number[] = []
    for (let index = 0; index < 61; index += 1) {
      statuses.push((await asAda('POST', '/courses', {})).status)
    }
    assert.deepEqual([statuses[59], statuses[60]], [400, 429])
    assert.equal((await asBob('POST', '/courses', {})).status, 400)
  })
})
