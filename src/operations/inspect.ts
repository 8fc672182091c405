/** Operations on every queue: counts, peek and purge. */
import type { Backend, Page, PeekedMessage, QueueStatistics } from '../backends/backend.ts'
import type { MessageState } from '../core/message.ts'
import { type OptionNames, refuseUnknownOptions } from '../core/options.ts'

export interface PeekOptions {
  /** Default: messages that can be received now. */
  readonly state?: MessageState
  /** Messages per page, 1 to 1000. Default: 10. */
  readonly limit?: number
  /** The `next` of the previous page. */
  readonly after?: string
}

const peekOptions: OptionNames<PeekOptions> = { state: true, limit: true, after: true }

export interface QueueInspector {
  statistics(): Promise<QueueStatistics>
  /** Reads messages without receiving them. Bodies are as sent. */
  peek(options?: PeekOptions): Promise<Page<PeekedMessage>>
}

export function inspectorOf(
  backend: Pick<Backend, 'queueStatistics' | 'peek'>,
  queue: string,
): QueueInspector {
  return {
    statistics: () => backend.queueStatistics({ queue }),
    peek: async (options = {}) => {
      refuseUnknownOptions(options, peekOptions)
      const { state = 'ready', limit = 10, after } = options
      return backend.peek({ queue, state, limit, ...(after === undefined ? {} : { after }) })
    },
  }
}

export interface QueuePurger {
  /** Deletes waiting, leased and delayed messages, and the deduplication ids. */
  purge(): Promise<void>
}

export function purgerOf(backend: Pick<Backend, 'purgeQueue'>, queue: string): QueuePurger {
  return { purge: () => backend.purgeQueue({ queue }) }
}
