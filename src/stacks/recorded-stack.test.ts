import assert from 'node:assert/strict'
import { describe, onTestFinished, test } from 'vitest'
import { temporaryFolder } from '../../test/support/temporary-folder.ts'
import type { Backend } from '../backends/backend.ts'
import { openSqlite } from '../backends/sqlite/index.ts'
import type { Stack } from '../templates/stack.ts'
import { recordedStack, recordedStacks, recordStack } from './recorded-stack.ts'

const at = { file: '/shop/serverless.yml', line: 3, column: 5 }
const stack: Stack = {
  name: 'shop/dev',
  queues: [{ logicalId: 'Orders', name: 'orders', settings: {}, tags: {}, at }],
  functions: [],
  eventSources: [],
  routes: [],
  alarms: [],
}
const about = { source: 'serverless.yml', retired: ['old'] }

async function openBackend(): Promise<Backend> {
  const folder = await temporaryFolder('stacks')
  const backend = await openSqlite({ file: folder.file('store.db') })
  onTestFinished(async () => {
    await backend.close()
    await folder.remove()
  })
  return backend
}

describe('a recorded stack', () => {
  test('is as it went up, without the environments of its functions', async () => {
    const backend = await openBackend()
    assert.equal(await recordedStack(backend, 'shop/dev'), undefined)
    const secret = { logicalId: 'Pay', name: 'pay', environment: { KEY: 'secret' }, at }
    // What else a function has is kept as it is.
    const functions = [secret] as unknown as Stack['functions']
    await recordStack(backend, { ...stack, functions }, about)
    const { environment: _, ...kept } = secret
    const expected = { ...stack, functions: [kept], ...about }
    assert.deepEqual(await recordedStack(backend, 'shop/dev'), expected)
    assert.deepEqual(await recordedStacks(backend), [expected])
  })

  test('is missing on a backend that records none, where no stack goes up', async () => {
    const backend = { stacks: null }
    assert.equal(await recordedStack(backend, 'shop/dev'), undefined)
    assert.deepEqual(await recordedStacks(backend), [])
    await assert.rejects(recordStack(backend, stack, about), { code: 'unsupported' })
  })
})
