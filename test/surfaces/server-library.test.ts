import assert from 'node:assert/strict'
import { describe, test } from 'vitest'
import { defineApp, open, queue } from '../../src/index.ts'
import { type ServeOptions, serve } from '../../src/server.ts'
import { inTemporaryFolder } from '../support/temporary-folder.ts'
import { collectingLogger, type LogLine } from '../support/worker-scene.ts'

describe('the server as a library', () => {
  test('serves until it is stopped, and stops once however often it is asked', () =>
    inTemporaryFolder('server', async (folder) => {
      const server = await serve({ port: 0, data: folder.path })
      assert.equal((await fetch(`${server.url}/readyz`)).status, 200)
      const stopped = server.stop()
      assert.equal(server.stop(), stopped)
      await stopped
      await assert.rejects(fetch(`${server.url}/healthz`))
      await server.stop()
    }))

  test('shares its store with apps that open it', () =>
    inTemporaryFolder('server', async (folder) => {
      const server = await serve({ port: 0, data: folder.path })
      const app = defineApp('academy', { queues: { video: queue() } })
      const mill = await open(app, { data: folder.path })
      assert.equal((await mill.queues.video.send({ videoId: 1 })).status, 'created')
      await server.stop()
      assert.equal((await mill.queues.video.receive()).length, 1)
      await mill.close()
    }))

  test('lets go of the store when it cannot listen', () =>
    inTemporaryFolder('server', async (folder) => {
      const first = await serve({ port: 0, data: folder.path })
      const again = { port: first.port, data: folder.path }
      await assert.rejects(serve(again), { code: 'address_unavailable' })
      await first.stop()
      const second = await serve(again)
      await second.stop()
    }))

  test('lets go of the store when its settings are refused', () =>
    inTemporaryFolder('server', async (folder) => {
      const app = defineApp('academy', { queues: { video: queue() } })
      const options = { app, port: 0, data: folder.path }
      await assert.rejects(serve({ ...options, userQueues: ['video'] }), {
        code: 'invalid_argument',
        message: /userQueues: got 'video', expected an app with job queues/,
      })
      const server = await serve(options)
      assert.equal((await fetch(`${server.url}/jobs`)).status, 200)
      await server.stop()
    }))

  test('warns at its start when access keys leave the HTTP API open', () =>
    inTemporaryFolder('server', async (folder) => {
      const accessKeys = [
        { accessKeyId: 'tutoring', secretAccessKey: 'a-secret-that-is-long-enough' },
      ]
      const apiKeys = [{ name: 'root', role: 'admin', key: 'a-key-that-is-long-enough' }] as const
      const warningsOf = async (options: ServeOptions): Promise<readonly string[]> => {
        const lines: LogLine[] = []
        const log = collectingLogger(lines)
        const server = await serve({ port: 0, data: folder.path, log, ...options })
        await server.stop()
        return lines.flatMap(({ level, message }) => (level === 'warn' ? [message] : []))
      }
      const [warning, ...others] = await warningsOf({ accessKeys })
      assert.match(warning ?? '', /HTTP API is open .* MILLRACE_API_KEYS .* auth/)
      assert.deepEqual(others, [])
      assert.deepEqual(await warningsOf({}), [])
      assert.deepEqual(await warningsOf({ accessKeys, auth: { apiKeys } }), [])
      // There it is closed.
      assert.deepEqual(await warningsOf({ accessKeys, host: '0.0.0.0' }), [])
    }))

  test('listens to other machines only with credentials, whatever a caller without types says', () =>
    inTemporaryFolder('server', async (folder) => {
      const options = { host: '0.0.0.0', port: 0, data: folder.path }
      for (const auth of [undefined, 'none', {}, { apiKeys: [] }]) {
        // @ts-expect-error: the types allow credentials only
        await assert.rejects(serve({ ...options, auth }), /Cannot listen|auth: got/)
      }
      const apiKeys = [{ name: 'root', role: 'admin', key: 'a-key-that-is-long-enough' }] as const
      const server = await serve({ ...options, auth: { apiKeys } })
      const local = `http://127.0.0.1:${server.port}`
      assert.equal((await fetch(`${local}/openapi.json`)).status, 401)
      assert.equal((await fetch(`${local}/healthz`)).status, 200)
      await server.stop()
    }))
})
