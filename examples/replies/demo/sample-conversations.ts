/** Sample conversations for the demo and the tests. */
import type { NewConversation } from '../conversations/conversation-store.ts'

const common = {
  project_id: 'project_456',
  company_id: 'company_123',
  project_active: true,
  allowed_channels: ['whatsapp', 'sms', 'email'],
  auto_queue: false,
  // Short for the demo. Leave it out to use the default of ten seconds.
  window_seconds: 2,
} as const

export const ada: NewConversation = {
  ...common,
  conversation_id: 'conv-ada',
  channel_type: 'whatsapp',
  customer: 'whatsapp:+15550100001',
  line: 'whatsapp:+15550199999',
  thread_id: 'thread_ada',
  customer_name: 'Ada',
  current_step: 'order question',
}

export const ben: NewConversation = {
  ...common,
  conversation_id: 'conv-ben',
  channel_type: 'sms',
  customer: '+15550100002',
  line: '+15550199999',
  thread_id: 'thread_ben',
  customer_name: 'Ben',
  current_step: 'appointment',
}

/** Writes long e-mails, so the window is longer. */
export const cleo: NewConversation = {
  ...common,
  window_seconds: 60,
  conversation_id: 'conv-cleo',
  channel_type: 'email',
  customer: 'cleo@example.com',
  line: 'help@example.org',
  thread_id: 'thread_cleo',
  customer_name: 'Cleo',
  current_step: 'invoice',
}

/** Always handed to a person. */
export const dora: NewConversation = {
  ...common,
  conversation_id: 'conv-dora',
  channel_type: 'whatsapp',
  customer: 'whatsapp:+15550100004',
  line: 'whatsapp:+15550199999',
  thread_id: 'thread_dora',
  customer_name: 'Dora',
  current_step: 'complaint',
  auto_queue: true,
}

/** Its project is not active. */
export const emil: NewConversation = {
  ...common,
  conversation_id: 'conv-emil',
  channel_type: 'sms',
  customer: '+15550100005',
  line: '+15550199999',
  thread_id: 'thread_emil',
  customer_name: 'Emil',
  current_step: 'done',
  project_active: false,
}

export const sampleConversations: readonly NewConversation[] = [ada, ben, cleo, dora, emil]
