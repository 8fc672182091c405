import assert from 'node:assert/strict'
import { describe, test } from 'vitest'
import { z } from 'zod'
import { complaints } from '../../test/support/complaints.ts'
import { type CollectorOptions, collector, triggers } from './collector-declaration.ts'
import { defineApp } from './define-app.ts'
import { jobs } from './jobs-declaration.ts'
import { fifo, queue } from './queue-declaration.ts'

const Item = z.object({ conversation: z.string(), id: z.string() })

const good: CollectorOptions<typeof Item> = {
  schema: Item,
  key: ({ conversation }) => conversation,
  id: ({ id }) => id,
  window: '10s',
  triggers: 'delay',
  targets: ['whatsapp'],
  merge: (items) => items,
}

const queues = {
  delay: triggers({ deadLetter: { after: 3 } }),
  whatsapp: queue(),
  sms: queue(),
  work: jobs({ types: { OCR: Item } }),
  steps: fifo(),
}

describe('a collector', () => {
  test('needs an item, a key, an id, a window, triggers, a target and a merge', () => {
    const app = defineApp('replies', { queues, collectors: { conversations: collector(good) } })
    assert.equal(app.collectors.conversations.options.window, '10s')
    assert.equal(app.queues.delay.kind, 'triggers')
  })

  test('may say more', () => {
    const more: CollectorOptions<typeof Item> = {
      ...good,
      order: ({ id }) => id.length,
      window: '0s',
      maxWait: '12h',
      maxItems: 1_000,
      maxBytes: 1,
      rememberFor: '90d',
      trigger: (key) => ({ conversation_id: key }),
      keyOf: () => 'key',
      targets: ['whatsapp', 'sms'],
      route: () => 'sms',
    }
    defineApp('replies', { queues, collectors: { conversations: collector(more) } })
  })

  test.each<[string, object, string]>([
    ['no schema', { schema: undefined }, 'schema: got undefined, expected a Standard Schema'],
    ['a key that is none', { key: 'id' }, "key: got 'id', expected a function"],
    ['no id', { id: undefined }, 'id: got undefined, expected a function'],
    ['no merge', { merge: undefined }, 'merge: got undefined, expected a function'],
    ['an order that is none', { order: 'at' }, "order: got 'at', expected a function"],
    ['no window', { window: undefined }, 'window: got undefined, expected a duration, 0s to 15m'],
    ['too long a window', { window: '16m' }, 'window: got 16m, expected a duration, 0s to 15m'],
    ['too long a wait', { maxWait: '13h' }, 'maxWait: got 13h, expected a duration, 0s to 12h'],
    ['too short a wait', { maxWait: '9s' }, 'maxWait: got 9s, expected at least the window, 10s'],
    ['too few items', { maxItems: 0 }, 'maxItems: got 0, expected a whole number, 1 to 1000'],
    ['too many bytes', { maxBytes: 2 ** 25 }, 'maxBytes: got 33554432, expected a whole number'],
    ['too long a memory', { rememberFor: '91d' }, 'rememberFor: got 91d, expected a duration'],
    ['a setting that is none', { windows: '1s' }, 'windows: got an unknown option'],
    [
      'a queue of triggers that is none',
      { triggers: 'delai' },
      "triggers: got 'delai', expected the key of a queue declared with triggers({...}); did you mean 'delay'?",
    ],
    [
      'plain messages for triggers',
      { triggers: 'whatsapp' },
      "triggers: got 'whatsapp', expected the key of a queue declared with triggers({...})",
    ],
    [
      'a trigger that cannot be read',
      { trigger: () => ({}) },
      'keyOf: got nothing, expected trigger and keyOf together',
    ],
    [
      'a reader of triggers that are not written',
      { keyOf: () => 'x' },
      'trigger: got nothing, expected trigger and keyOf together',
    ],
    ['no target', { targets: [] }, 'targets: got no queue, expected the keys of the queues'],
    ['a target alone', { targets: 'sms' }, "targets: got 'sms', expected the keys of the queues"],
    [
      'an unknown target',
      { targets: ['smss'] },
      "targets[0]: got 'smss', expected the key of a declared queue; did you mean 'sms'?",
    ],
    [
      'jobs for a target',
      { targets: ['work'] },
      "targets[0]: got 'work', a jobs queue, expected a queue declared with queue({...})",
    ],
    [
      'a FIFO queue for a target',
      { targets: ['steps'] },
      "targets[0]: got 'steps', a FIFO queue, expected a queue declared with queue({...})",
    ],
    [
      'triggers for a target',
      { targets: ['delay'] },
      "targets[0]: got 'delay', a triggers queue, expected a queue declared with queue({...})",
    ],
    [
      'two targets and no choice',
      { targets: ['sms', 'whatsapp'] },
      'route: got nothing, expected a function that chooses one of the targets',
    ],
  ])('is refused with %s', (_name, wrong, complaint) => {
    const declared = { ...collector(good), options: { ...good, ...wrong } }
    const found = complaints('replies', { queues, collectors: { conversations: declared } })
    const own = found.filter((text) => text.startsWith('collectors.conversations.'))
    assert.equal(own.length, 1, found.join('\n'))
    assert.ok(own[0]?.startsWith(`collectors.conversations.${complaint}`), own[0])
  })

  test('is refused when it is something else, or has no name', () => {
    const collectors = { other: {} as never, 'no good': collector(good), Conv: collector(good) }
    const conv = collector({ ...good, triggers: 'second' })
    assert.deepEqual(
      complaints('replies', {
        queues: { ...queues, second: triggers() },
        collectors: { ...collectors, conv },
      }),
      [
        "collectors.other: got a value of type object, expected a collector made with collector({ item, key, id, window: '10s', ... })",
        "collectors.no good: got 'no good', expected letters, digits, and _ or - between them",
        "collectors.Conv.triggers: got 'delay', expected a separate queue; 'delay' already carries the triggers of collectors.no good",
        "collectors.conv: got 'replies-dev-conv', expected a unique name; collectors.Conv already has it",
      ],
    )
    assert.deepEqual(complaints('replies', { queues: {}, collectors: [] as never }), [
      'collectors: got an array, expected an object of collectors',
    ])
  })
})

describe('a triggers queue', () => {
  test('serves a collector', () => {
    assert.deepEqual(complaints('replies', { queues: { delay: triggers() } }), [
      "queues.delay: got a triggers queue that no collector uses, expected a collector that names this queue, as in triggers: 'delay'",
    ])
  })

  test('keeps triggers until they are due', () => {
    assert.deepEqual(
      complaints('replies', {
        queues: { ...queues, delay: triggers({ retention: '5m' }) },
        collectors: { conversations: collector({ ...good, maxWait: '5m' }) },
      }),
      [
        'queues.delay.retention: got 5m, expected longer than the wait of collectors.conversations, 5m',
      ],
    )
  })

  test('has the settings of a queue, and no contract', () => {
    const delay = { ...triggers(), options: { message: Item, retentoin: '1d' } }
    const collectors = { conversations: collector(good) }
    const found = complaints('replies', { queues: { ...queues, delay }, collectors })
    assert.deepEqual(
      found.map((text) => text.split(':')[0]),
      ['queues.delay.message', 'queues.delay.retentoin'],
    )
  })
})
