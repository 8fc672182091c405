/**
 * The replies engine as one value: the queues of template.yaml under the same names, and the collector
 * that makes one payload of what a customer writes within a few seconds.
 */
import { collector, defineApp, queue, triggers } from 'millrace'
import { mergeMessages, targetOf } from './merge-messages.ts'
import { MergedPayload, StagedMessage, Trigger } from './messages.ts'

/** The parameters of the template. */
export interface Place {
  readonly projectPrefix: string
  readonly environmentName: string
}

export interface RepliesSettings extends Place {
  /** The wait before an answer that failed is tried again; it doubles. */
  readonly retryMs?: number
}

export const defaultPlace: Place = { projectPrefix: 'ai-multi-comms', environmentName: 'dev' }

/** How long a conversation is collected, unless it has a window of its own. */
export const defaultWindow = '10s'

export function repliesApp(settings: RepliesSettings = defaultPlace) {
  const { projectPrefix, environmentName, retryMs = 5_000 } = settings
  const named = (name: string): string => `${projectPrefix}-${name}-${environmentName}`
  const target = (channel: string) =>
    queue({
      name: named(`${channel}-target-queue`),
      schema: MergedPayload,
      visibilityTimeout: '300s',
      retention: '4d',
      deadLetter: { after: 3, name: named(`${channel}-target-dlq`), retention: '14d' },
      backoff: { from: `${retryMs}ms` },
    })
  return defineApp('replies', {
    queues: {
      triggerDelay: triggers({
        name: named('trigger-delay-queue'),
        visibilityTimeout: '905s',
        retention: '4d',
        deadLetter: { after: 3, name: named('trigger-delay-dlq'), retention: '14d' },
      }),
      whatsapp: target('whatsapp'),
      sms: target('sms'),
      email: target('email'),
      // Whoever looks at it is a person, so nothing in it is given up for having been looked at.
      handoff: queue({
        name: named('human-handoff-queue'),
        schema: MergedPayload,
        visibilityTimeout: '1h',
        retention: '7d',
      }),
    },
    collectors: {
      conversations: collector({
        schema: StagedMessage,
        key: ({ conversation_id }) => conversation_id,
        id: ({ message_sid }) => message_sid,
        order: ({ received_at }) => received_at,
        window: defaultWindow,
        triggers: 'triggerDelay',
        trigger: (conversation_id) => ({ conversation_id }),
        keyOf: (trigger) => Trigger.parse(trigger).conversation_id,
        targets: ['whatsapp', 'sms', 'email', 'handoff'],
        route: targetOf,
        merge: mergeMessages,
      }),
    },
  })
}
