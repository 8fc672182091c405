import assert from 'node:assert/strict'
import { rmSync, writeFileSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import { describe, test } from 'vitest'
import { serve } from '../../../src/server.ts'
import { canMount, withMounted } from '../../support/mounting.ts'
import { inTemporaryFolder } from '../../support/temporary-folder.ts'
import { academy } from './academy.ts'
import { mountAcademy } from './mounted.ts'
import { type Answer, auth, callApi, keys } from './scene.ts'

const inside = /queue|store|sqlite|disk|lock|worker|busy|\/tmp/i

function assertUnavailable({ status, headers, body }: Answer): void {
  assert.equal(status, 503)
  assert.equal(body.code, 'unavailable')
  assert.match(headers.get('retry-after') ?? '', /^[1-9]\d*$/)
  assert.doesNotMatch(JSON.stringify(body), inside)
}

describe('a store that is down', () => {
  test('because another program holds it: 503, reading goes on, and afterwards all is well', async () => {
    const api = await mountAcademy()
    const { body } = await api.enqueue({ owner: 'alice' })
    const holder = new DatabaseSync(api.file)
    holder.exec('BEGIN IMMEDIATE')
    const secret = { payload: { examId: 'private-exam' }, idempotency_key: 'private-key' }
    assertUnavailable(await api.enqueue(secret))
    const cancel = { key: keys.alice, method: 'POST' }
    assertUnavailable(await api.call(`/jobs/${body.job_id}/cancel`, cancel))
    assert.equal((await api.call(`/jobs/${body.job_id}`, { key: keys.alice })).status, 200)
    holder.exec('ROLLBACK')
    holder.close()
    assert.equal((await api.enqueue(secret)).headers.get('idempotent-replayed'), null)

    const failures = api.log.filter(({ level }) => level === 'error')
    assert.deepEqual(
      failures.map(({ message, fields }) => [message, fields['code'], fields['route']]),
      [
        ['request failed', 'store_busy', '/jobs/:queue'],
        ['request failed', 'store_busy', '/jobs/:id/cancel'],
      ],
    )
    const written = JSON.stringify(api.log)
    for (const word of ['private', ...Object.values(keys), body.job_id]) {
      assert.ok(!written.includes(word), word)
    }
  })

  test('because it was closed: 503', async () => {
    const api = await mountAcademy()
    await api.backend.close()
    assertUnavailable(await api.enqueue())
    assertUnavailable(await api.call('/jobs', { key: keys.alice }))
  })

  test.skipIf(!canMount)('because its disk is full: 503, and 202 when there is room again', () =>
    inTemporaryFolder('full-api', (folder) =>
      withMounted(['-t', 'tmpfs', '-o', 'size=8m', 'tmpfs'], folder.file('disk'), async (disk) => {
        const ballast = `${disk}/ballast`
        writeFileSync(ballast, Buffer.alloc(2 * 2 ** 20))
        const rate = { max: 100_000, per: '1s' } as const
        const data = `${disk}/data`
        const server = await serve({
          app: academy,
          auth,
          port: 0,
          data,
          enqueueRate: rate,
        })
        const call = (path: string, wanted = {}): Promise<Answer> =>
          callApi(server.url, path, { key: keys.admin, ...wanted })
        const body = { type: 'ANY', payload: 'x'.repeat(100_000) }
        const enqueue = (): Promise<Answer> => call('/jobs/basic', { method: 'POST', body })
        let accepted = 0
        let answer = await enqueue()
        for (; answer.status === 202; answer = await enqueue()) accepted += 1
        assertUnavailable(answer)
        assert.ok(accepted > 5)
        // The process is alive, whatever the store says.
        assert.equal((await call('/healthz')).status, 200)
        assert.equal((await call('/jobs?limit=100')).body.jobs.length, accepted)
        rmSync(ballast)
        assert.equal((await enqueue()).status, 202)
        await server.stop()
      }),
    ),
  )
})

describe('a failure that nobody thought of', () => {
  test('is a 500 with a request id, and a log line without the text of the error', async () => {
    const api = await mountAcademy({
      change: (mill) => ({
        ...mill,
        jobs: {
          ...mill.jobs,
          get: () => Promise.reject(new TypeError('postgres://user:password@host/queue')),
        },
      }),
    })
    const headers = { 'x-request-id': 'req-1' }
    const { status, body, text } = await api.call('/jobs/1', { key: keys.admin, headers })
    assert.equal(status, 500)
    assert.deepEqual([body.code, body.request_id], ['internal', 'req-1'])
    assert.doesNotMatch(text, inside)
    assert.ok(!JSON.stringify(api.log).includes('password'))
    assert.deepEqual(api.log[0], {
      level: 'error',
      message: 'request failed',
      fields: { request_id: 'req-1', route: '/jobs/:id', code: 'TypeError' },
    })
  })
})
