import assert from 'node:assert/strict'
import type { StackStore } from '../../backends/stack-store.ts'
import { limits } from '../../core/limits.ts'
import { minute, rejects, type Scene } from './scene.ts'
import type { ContractSuite } from './suite.ts'

export function describeStacks(all: ContractSuite): void {
  const suite = all.needing('stacks')
  suite.describe('the record of stacks', () => {
    suite.test('has nothing before the first one', async (scene) => {
      assert.equal(await stacksOf(scene).read({ stack: 'shop' }), undefined)
      assert.deepEqual(await stacksOf(scene).list(), [])
    })

    suite.test(
      'returns what was written, under any name, and the latest of each',
      async (scene) => {
        const stacks = stacksOf(scene)
        await stacks.write({ stack: 'shop/dev', document: '{"queues":[]}' })
        await stacks.write({ stack: 'other', document: '{"queues":["ä"]}' })
        const before = await stacks.read({ stack: 'shop/dev' })
        await scene.advance(minute)
        await stacks.write({ stack: 'shop/dev', document: '{"queues":["orders"]}' })
        const after = await stacks.read({ stack: 'shop/dev' })
        assert.equal(after?.document, '{"queues":["orders"]}')
        assert.equal((after?.writtenAt ?? 0) - (before?.writtenAt ?? 0), minute)
        assert.deepEqual(
          (await stacks.list()).map(({ stack, document }) => [stack, document]),
          [
            ['other', '{"queues":["ä"]}'],
            ['shop/dev', '{"queues":["orders"]}'],
          ],
        )
      },
    )

    suite.test('refuses a name or a document that is empty or too long', async (scene) => {
      const stacks = stacksOf(scene)
      const name = 's'.repeat(limits.stackNameLength.max)
      const document = '{}'
      await rejects(stacks.write({ stack: '', document }), 'invalid_argument')
      await rejects(stacks.write({ stack: `${name}s`, document }), 'invalid_argument')
      await rejects(stacks.write({ stack: name, document: '' }), 'invalid_argument')
      await stacks.write({ stack: name, document })
      assert.equal((await stacks.list()).length, 1)
    })

    suite.needing('reopen').test('is kept when the store is opened again', async (scene) => {
      await stacksOf(scene).write({ stack: 'shop', document: '{}' })
      await scene.reopen()
      assert.equal((await stacksOf(scene).read({ stack: 'shop' }))?.document, '{}')
    })
  })
}

function stacksOf({ backend }: Scene): StackStore {
  assert.ok(backend.stacks !== null)
  return backend.stacks
}
