/** The app of the collector bench: conversations whose messages become one payload. */
import { z } from 'zod'
import { collector, defineApp, type Mill, open, queue, triggers } from '../../src/index.ts'

export const windowMs = 10_000

const Said = z.object({
  conversation: z.string(),
  sid: z.number(),
  at: z.number(),
  text: z.string(),
})

const Payload = z.object({
  conversation: z.string(),
  merged_body: z.string(),
  sids: z.array(z.number()),
})

const talks = defineApp('bench', {
  queues: {
    triggerDelay: triggers({ visibilityTimeout: '905s', deadLetter: { after: 3 } }),
    target: queue({ schema: Payload, visibilityTimeout: '5m' }),
  },
  collectors: {
    talks: collector({
      schema: Said,
      key: ({ conversation }) => conversation,
      id: ({ sid }) => String(sid),
      order: ({ at }) => at,
      window: { ms: windowMs },
      triggers: 'triggerDelay',
      targets: ['target'],
      merge: (items, conversation) => ({
        conversation,
        merged_body: items.map(({ text }) => text).join('\n'),
        sids: items.map(({ sid }) => sid),
      }),
    }),
  },
})

export type BenchMill = Mill<typeof talks>

export function openTalks(data: string): Promise<BenchMill> {
  return open(talks, { data })
}
