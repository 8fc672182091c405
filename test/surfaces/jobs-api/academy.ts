/** The app of these tests, in a module of its own as users have it. */
import { z } from 'zod'
import { defineApp, jobs, queue } from '../../../src/index.ts'

export const academy = defineApp('academy', {
  queues: {
    basic: jobs({
      types: {
        OCR: z.object({ examId: z.string().min(1), pages: z.number().int().optional() }),
        LOGIN: {
          schema: z.object({
            email: z.string(),
            users: z.array(z.object({ token: z.string(), name: z.string() })),
          }),
          secret: ['users.token'],
          personal: ['email'],
        },
        ANY: z.unknown(),
      },
      visibilityTimeout: '5m',
    }),
    mail: jobs({ types: { SEND: z.object({ to: z.string() }) }, name: 'outgoing-mail' }),
    video: queue(),
  },
  budgets: { llm: { limit: 1_000, unit: 'tokens', per: '1d', trips: 'LLM_PAUSED' } },
})
