/** A queue whose jobs are declared here and run by a program in another language. */
import { defineApp, jobs } from 'millrace'
import { z } from 'zod'

export const words = defineApp('words', {
  queues: {
    pages: jobs({
      types: {
        COUNT_WORDS: {
          schema: z.object({ url: z.url() }),
          result: z.object({ words: z.number(), longest: z.string() }),
        },
      },
      attempts: 3,
      // Short for this program. By default, the first retry waits 5 seconds.
      backoff: { from: '200ms', jitter: 0 },
    }),
  },
})
