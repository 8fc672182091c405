/** An app that merges the messages of a conversation: the small form of a replies engine. */
import { z } from 'zod'
import { collector, defineApp, queue, triggers } from '../../src/index.ts'

export const Incoming = z.object({
  conversation_id: z.string(),
  sid: z.string(),
  text: z.string(),
  received_at: z.iso.datetime(),
  wants: z.enum(['answer', 'person']).default('answer'),
})

export const Merged = z.object({
  conversation_id: z.string(),
  merged_body: z.string().max(1_000),
  message_sids: z.array(z.string()),
})

type Message = z.infer<typeof Incoming>

/** Lets a test look into the merge, or break it. */
export const hooks: {
  onMerge: (items: readonly Message[]) => void | Promise<void>
  route: (items: readonly Message[]) => string | undefined
} = { onMerge: () => undefined, route: () => undefined }

export const replies = defineApp('replies', {
  queues: {
    triggerDelay: triggers({
      visibilityTimeout: '905s',
      retention: '4d',
      deadLetter: { after: 3, retention: '14d' },
      backoff: { from: '5s', factor: 1, jitter: 0 },
    }),
    webhooks: queue({ schema: Incoming }),
    whatsapp: queue({ schema: Merged, deadLetter: { after: 3 } }),
    handoff: queue({ schema: Merged }),
  },
  collectors: {
    conversations: collector({
      schema: Incoming,
      key: (message) => message.conversation_id,
      id: (message) => message.sid,
      order: (message) => message.received_at,
      window: '10s',
      triggers: 'triggerDelay',
      trigger: (key) => ({ conversation_id: key }),
      keyOf: (trigger) => String(Object(trigger).conversation_id ?? ''),
      targets: ['whatsapp', 'handoff'],
      route: (items) => {
        const chosen = hooks.route(items)
        // What a test makes up is not among the targets that the types know.
        if (chosen !== undefined) return chosen as 'whatsapp'
        return items.some(({ wants }) => wants === 'person') ? 'handoff' : 'whatsapp'
      },
      merge: async (items, key) => {
        await hooks.onMerge(items)
        return {
          conversation_id: key,
          merged_body: items.map(({ text }) => text).join('\n'),
          message_sids: items.map(({ sid }) => sid),
        }
      },
    }),
  },
})

/** A message of a conversation, so many seconds after the first. */
export function message(
  conversation: string,
  sid: string,
  seconds = 0,
  more: Partial<z.input<typeof Incoming>> = {},
): z.input<typeof Incoming> {
  return {
    conversation_id: conversation,
    sid,
    text: `text of ${sid}`,
    received_at: new Date(Date.UTC(2026, 0, 1) + seconds * 1_000).toISOString(),
    ...more,
  }
}
