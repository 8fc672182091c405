import assert from 'node:assert/strict'
import fc from 'fast-check'
import { describe, test } from 'vitest'
import { checkQueueName } from '../core/check-queue.ts'
import type { Violations } from '../core/checks.ts'
import { physicalName } from './physical-name.ts'

describe('a name that the template does not give', () => {
  test('is made of the stack, the logical id and a few characters', () => {
    const name = physicalName({ stackName: 'shop-dev', logicalId: 'Orders', lengthMax: 80 })
    assert.match(name, /^shop-dev-Orders-[A-Z2-7]{12}$/)
  })

  test('differs between stacks and between resources', () => {
    const names = ['a', 'b'].flatMap((stackName) =>
      ['X', 'Y'].map((logicalId) => physicalName({ stackName, logicalId, lengthMax: 80 })),
    )
    assert.equal(new Set(names).size, 4)
  })

  test('is always a valid name of a queue', () => {
    const word = fc.stringMatching(/^[A-Za-z][A-Za-z0-9]{0,254}$/)
    fc.assert(
      fc.property(word, word, fc.constantFrom('', '.fifo'), (stackName, logicalId, suffix) => {
        const name = physicalName({ stackName, logicalId, lengthMax: 80, suffix })
        const violations: Violations = []
        checkQueueName(violations, 'name', name)
        assert.deepEqual(violations, [])
        assert.ok(name.endsWith(suffix))
      }),
    )
  })
})
