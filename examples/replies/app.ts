/**
 * The app: the queues of template.yaml under the same names, and the collector that merges the messages
 * a customer writes within a few seconds into one payload.
 */
import { collector, defineApp, queue, triggers } from 'millrace'
import { mergeMessages, targetOf } from './merge-messages.ts'
import { MergedPayload, StagedMessage, Trigger } from './messages.ts'

/** The parameters of the template. */
export interface TemplateParameters {
  readonly projectPrefix: string
  readonly environmentName: string
}

export interface RepliesSettings extends TemplateParameters {
  /** The wait before a failed reply is retried; it doubles each time. */
  readonly retryMs?: number
}

export const defaultParameters: TemplateParameters = {
  projectPrefix: 'ai-multi-comms',
  environmentName: 'dev',
}

/** How long messages are collected, unless the conversation has its own window. */
export const defaultWindow = '10s'

export function repliesApp(settings: RepliesSettings = defaultParameters) {
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
      // People claim and release these messages many times, so there is no dead-letter queue.
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
