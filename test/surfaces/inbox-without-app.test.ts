/** Inboxes of a server that knows no app: all queues of its store, such as those of a template. */
import assert from 'node:assert/strict'
import { describe, onTestFinished, test } from 'vitest'
import type { Backend } from '../../src/backends/backend.ts'
import { openSqlite } from '../../src/backends/sqlite/index.ts'
import { type ServeOptions, serve } from '../../src/server.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { type Answer, auth, type Call, callApi, keys } from './jobs-api/scene.ts'

interface Scene {
  readonly backend: Backend
  call(path: string, call?: Call): Promise<Answer>
}

async function serveStore(options: ServeOptions = {}): Promise<Scene> {
  const folder = await temporaryFolder('inbox')
  const backend = await openSqlite({ file: folder.file('millrace.db') })
  const obeys = { queue: ['DESK_CLOSED'], types: {} }
  await backend.createQueue({ queue: 'human-handoff', settings: { obeys } })
  await backend.send({ queue: 'human-handoff', messages: [{ body: '{"text":"help"}' }] })
  const server = await serve({ port: 0, data: folder.path, ...options })
  onTestFinished(async () => {
    await server.stop()
    await backend.close()
    await folder.remove()
  })
  return { backend, call: (path, call = {}) => callApi(server.url, path, call) }
}

const claim = { method: 'POST', body: { by: 'anna' } }

describe('a server without an app', () => {
  test('has the inboxes of its store, by their names there', async () => {
    const { call } = await serveStore()
    const { status, body } = await call('/inbox/human-handoff/claim', claim)
    assert.equal(status, 200)
    assert.deepEqual([body.message, body.claim.by], [{ text: 'help' }, 'anna'])
    const { body: page } = await call('/inbox/human-handoff?tab=mine&by=anna')
    assert.deepEqual([page.items.length, page.counts], [1, { mine: 1, unassigned: 0, all: 1 }])
    const resolve = { method: 'POST', body: { by: 'anna' } }
    assert.equal((await call(`/inbox/human-handoff/${body.id}/resolve`, resolve)).status, 204)
  })

  test('says that a queue is not there', async () => {
    const { call } = await serveStore()
    for (const answer of [
      await call('/inbox/nothing'),
      await call('/inbox/nothing/id'),
      await call('/inbox/nothing/claim', claim),
    ]) {
      assert.deepEqual([answer.status, answer.body.errors[0].field], [404, 'queue'])
    }
  })

  test('asks for credentials where it has any', async () => {
    const { call } = await serveStore({ auth })
    assert.equal((await call('/inbox/human-handoff')).status, 401)
    assert.equal((await call('/inbox/human-handoff', { key: keys.alice })).status, 403)
    assert.equal((await call('/inbox/human-handoff', { key: keys.operator })).status, 200)
  })

  test('holds claims by the kill switches of its environment', async () => {
    process.env['DESK_CLOSED'] = 'true'
    onTestFinished(() => {
      delete process.env['DESK_CLOSED']
    })
    const { call } = await serveStore()
    assert.equal((await call('/inbox/human-handoff/claim', claim)).status, 204)
    const { body } = await call('/inbox/human-handoff?tab=unassigned')
    const chosen = { method: 'POST', body: { id: body.items[0].id } }
    const { status, body: problem } = await call('/inbox/human-handoff/claim', chosen)
    assert.deepEqual([status, problem.code, problem.because], [409, 'item_not_ready', 'held'])
  })
})
