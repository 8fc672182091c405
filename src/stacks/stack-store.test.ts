import assert from 'node:assert/strict'
import { mkdir, readdir, writeFile } from 'node:fs/promises'
import { describe, onTestFinished, test } from 'vitest'
import { type TemporaryFolder, temporaryFolder } from '../../test/support/temporary-folder.ts'
import { dataDirectoryAt } from '../app/data-directory.ts'
import { systemPorts } from '../core/ports.ts'
import type { Stack } from '../templates/stack.ts'
import { type StackStore, stackStoreAt } from './stack-store.ts'

const at = { file: '/shop/serverless.yml', line: 3, column: 5 }
const stack: Stack = {
  name: 'shop/dev',
  queues: [{ logicalId: 'Orders', name: 'orders', settings: {}, tags: {}, at }],
  functions: [],
  eventSources: [],
  alarms: [],
}
const about = { source: 'serverless.yml', retired: ['old'] }

async function storeScene(): Promise<{ folder: TemporaryFolder; stacks: StackStore }> {
  const folder = await temporaryFolder('stacks')
  onTestFinished(() => folder.remove())
  return { folder, stacks: stackStoreAt(dataDirectoryAt(folder.path), systemPorts) }
}

describe('the record of stacks', () => {
  test('has nothing before the first one', async () => {
    const { stacks } = await storeScene()
    assert.equal(await stacks.read('shop'), undefined)
    assert.deepEqual(await stacks.list(), [])
  })

  test('gives back what was written, under any name, and the latest of each', async () => {
    const { stacks, folder } = await storeScene()
    await stacks.write(stack, { ...about, retired: [] })
    await stacks.write(stack, about)
    await stacks.write({ ...stack, name: 'other' }, about)
    const { up_at, ...record } = (await stacks.read('shop/dev')) ?? { up_at: '' }
    assert.match(up_at, /^\d{4}-\d\d-\d\dT/)
    assert.deepEqual(record, { ...stack, ...about })
    assert.deepEqual(
      (await stacks.list()).map(({ name }) => name),
      ['other', 'shop/dev'],
    )
    // No draft is left behind.
    assert.deepEqual(await readdir(folder.file('stacks')), ['other.json', 'shop%2Fdev.json'])
    await stacks.remove('other')
    assert.equal((await stacks.list()).length, 1)
  })

  test.each([
    ['damaged', '{ "version": 1, "stack": {'],
    ['of another version', '{ "version": 99, "stack": {} }'],
  ])('refuses a file that is %s, and names it', async (_name, text) => {
    const { stacks, folder } = await storeScene()
    await mkdir(folder.file('stacks'))
    await writeFile(folder.file('stacks/shop.json'), text)
    await assert.rejects(stacks.read('shop'), { code: 'store_unusable', message: /shop\.json/ })
  })
})
