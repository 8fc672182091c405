/** `millrace rekey`, as an operator uses it. */
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { afterEach, describe, test, vi } from 'vitest'
import { cliScene } from './cli-scene.ts'

const keys = ['one', 'two'].map((id) => `${id}:${randomBytes(32).toString('base64')}`)

afterEach(() => vi.unstubAllEnvs())

describe('millrace rekey', () => {
  test('seals what is there with the first key, and names the key that is not needed', async () => {
    const { good, read, run, store } = await cliScene()
    const { backend } = await store()
    await backend.createQueue({ queue: 'orders' })
    await backend.send({ queue: 'orders', messages: [{ body: 'a' }, { body: 'b' }] })
    await backend.close()

    assert.deepEqual(await run('rekey'), {
      code: 2,
      stdout: '',
      stderr: 'error: There is no key to seal with. Set MILLRACE_ENCRYPTION_KEYS.\n',
    })
    vi.stubEnv('MILLRACE_ENCRYPTION_KEYS', keys[0])
    assert.equal(await good('rekey'), "Sealed 2 texts with the key 'one'.\n")
    vi.stubEnv('MILLRACE_ENCRYPTION_KEYS', keys.toReversed().join(','))
    assert.deepEqual(await read('rekey'), { seen: 4, sealed: 2, key: 'two', removed: ['one'] })
    vi.stubEnv('MILLRACE_ENCRYPTION_KEYS', keys[1])
    assert.match(await good('message', 'peek', 'orders'), /\ba\b/)
    vi.stubEnv('MILLRACE_ENCRYPTION_KEYS', '')
    const { code, stderr } = await run('queue', 'list')
    assert.deepEqual([code, /sealed with the key 'two'/.test(stderr)], [6, true])
  })
})
