import { describe, expectTypeOf, test } from 'vitest'
import { z } from 'zod'
import type { KeySummary, Page } from '../../src/backend.ts'
import {
  type Collected,
  collector,
  defineApp,
  type InspectedKey,
  type Mill,
  queue,
  triggers,
} from '../../src/index.ts'

const Incoming = z.object({ conversation: z.string(), at: z.string().transform(Number) })

const replies = defineApp('replies', {
  queues: {
    delay: triggers(),
    hooks: queue({ schema: z.string() }),
    whatsapp: queue(),
    sms: queue(),
  },
  collectors: {
    conversations: collector({
      schema: Incoming,
      key: (item) => {
        expectTypeOf(item).toEqualTypeOf<{ conversation: string; at: number }>()
        return item.conversation
      },
      id: ({ at }) => String(at),
      order: ({ at }) => at,
      window: '10s',
      triggers: 'delay',
      targets: ['whatsapp', 'sms'],
      route: (items, key) => {
        expectTypeOf(items).toEqualTypeOf<readonly { conversation: string; at: number }[]>()
        expectTypeOf(key).toEqualTypeOf<string>()
        return items.length > 1 ? 'sms' : 'whatsapp'
      },
      merge: async (items, key) => ({ key, count: items.length }),
    }),
  },
})

declare const mill: Mill<typeof replies>
const item = { conversation: 'c', at: '7' }

describe('a collector', () => {
  test('takes what its schema takes', () => {
    const { conversations } = mill.collectors
    expectTypeOf(conversations.add(item, { window: '2s' })).toEqualTypeOf<Promise<Collected>>()
    // @ts-expect-error the output side of the schema
    conversations.add({ conversation: 'c', at: 7 })
    // @ts-expect-error a number has no unit
    conversations.add(item, { window: 2 })
    // @ts-expect-error there is no such collector
    mill.collectors.talks
  })

  test('tells what waits', () => {
    const { conversations } = mill.collectors
    expectTypeOf(conversations.inspect('c')).toEqualTypeOf<Promise<InspectedKey | undefined>>()
    expectTypeOf(conversations.list({ limit: 5 })).toEqualTypeOf<Promise<Page<KeySummary>>>()
    expectTypeOf(conversations.flush('c')).toEqualTypeOf<Promise<boolean>>()
  })

  test('routes to its targets only', () => {
    collector({
      schema: Incoming,
      key: () => 'k',
      id: () => 'i',
      window: '1s',
      triggers: 'delay',
      targets: ['whatsapp'],
      // @ts-expect-error not one of the targets
      route: () => 'sms',
      merge: () => null,
    })
  })
})

describe('a worker', () => {
  test('needs no handler for triggers', () => {
    mill.worker({ poll: ['delay'], handle: {} })
    mill.worker({ poll: { delay: 2, hooks: 1 }, handle: { hooks: () => undefined } })
    // @ts-expect-error the handler of a queue of messages is missing
    mill.worker({ poll: ['delay', 'hooks'], handle: {} })
  })

  test('lets its handlers collect', () => {
    mill.worker({
      poll: ['hooks'],
      handle: {
        hooks: (_text, context) => {
          context.collect('conversations', item)
          context.collect('conversations', item, { window: '1s' })
          // @ts-expect-error an item of another form
          context.collect('conversations', { conversation: 'c' })
          // @ts-expect-error there is no such collector
          context.collect('talks', item)
        },
      },
    })
  })
})
