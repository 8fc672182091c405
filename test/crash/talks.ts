/** An app of talks whose messages are merged by processes that may be killed at any moment. */
import { z } from 'zod'
import { collector, defineApp, queue, triggers } from '../../src/index.ts'
import type { ChildMessage } from '../support/child-program.ts'
import { sharedMs } from './workshop.ts'

const Said = z.object({ talk: z.string(), at: z.number() })

export const Merged = z.object({ talk: z.string(), at: z.array(z.number()) })

/** One merge, as the process tells it that does it. */
export interface MergeMessage extends ChildMessage {
  readonly kind: 'began' | 'ended'
  readonly talk: string
  readonly atMs: number
}

/** Called around every merge of this process. */
export type OnMerge = (message: MergeMessage) => void

export function talksApp(onMerge: OnMerge, takesMs: (talk: string) => Promise<void>) {
  return defineApp('talks', {
    queues: {
      delay: triggers({ visibilityTimeout: '5s', deadLetter: { after: 100 } }),
      merged: queue({ schema: Merged }),
    },
    collectors: {
      talks: collector({
        schema: Said,
        key: ({ talk }) => talk,
        id: ({ at }) => String(at),
        order: ({ at }) => at,
        window: '200ms',
        maxItems: 5,
        triggers: 'delay',
        targets: ['merged'],
        merge: async (items, talk) => {
          onMerge({ kind: 'began', talk, atMs: sharedMs() })
          await takesMs(talk)
          onMerge({ kind: 'ended', talk, atMs: sharedMs() })
          return { talk, at: items.map(({ at }) => at) }
        },
      }),
    },
  })
}
