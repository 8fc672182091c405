import assert from 'node:assert/strict'
import { describe, test } from 'vitest'
import { z } from 'zod'
import { defineApp } from './define-app.ts'
import { hiddenPathsOf } from './hidden-paths.ts'
import { jobs } from './jobs-declaration.ts'
import { fifo, queue } from './queue-declaration.ts'

const bank = jobs({
  types: {
    CHARGE: { schema: z.unknown(), secret: ['card.number'], personal: ['email'] },
    CALL: { schema: z.unknown(), personal: ['phone'] },
    WAIT: z.unknown(),
  },
})

describe('hidden paths', () => {
  test('is declared for the messages of a queue', () => {
    const marked = { secret: ['card'], personal: ['phone', 'email'] }
    const { queues } = defineApp('app', { queues: { a: queue(marked), b: fifo(marked) } })
    assert.deepEqual(hiddenPathsOf(queues.a), ['card', 'phone', 'email'])
    assert.deepEqual(hiddenPathsOf(queues.b), ['card', 'phone', 'email'])
    assert.deepEqual(hiddenPathsOf(queue()), [])
  })

  test('is declared for each type of jobs, and all of it counts when the type is not known', () => {
    assert.deepEqual(hiddenPathsOf(bank, 'CHARGE'), ['card.number', 'email'])
    assert.deepEqual(hiddenPathsOf(bank, 'WAIT'), [])
    assert.deepEqual(hiddenPathsOf(bank, 'constructor'), [])
    assert.deepEqual(hiddenPathsOf(bank), ['card.number', 'email', 'phone'])
  })

  test.each([
    ['a queue', { secret: 'card' }, /queues\.q\.secret: got 'card', expected paths/],
    ['a queue', { personal: ['list.*.name'] }, /queues\.q\.personal: .* without \* or \[\]/],
    ['a queue', { secret: ['list[].name'] }, /queues\.q\.secret: .* without \* or \[\]/],
    ['a queue', { personal: [7] }, /queues\.q\.personal: got an array, expected paths/],
  ])('is refused on %s when it is no list of paths: %j', (_what, options, complaint) => {
    assert.throws(() => defineApp('app', { queues: { q: queue(options as object) } }), complaint)
  })

  test('is refused for jobs as a whole, where each type has its own', () => {
    const options = { types: { WAIT: z.unknown() }, secret: ['card'] }
    assert.throws(() => defineApp('app', { queues: { q: jobs(options) } }), /queues\.q\.secret/)
  })
})
