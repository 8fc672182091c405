import { type App, defineApp } from '../../src/contracts/define-app.ts'
import { queue } from '../../src/contracts/queue-declaration.ts'
import { schedule } from '../../src/contracts/schedule-declaration.ts'

export interface TickingArgument {
  /** The data directory that the processes share. */
  readonly data: string
}

/** What the processes that tick and their parent agree on. The queue knows no duplicates. */
export const ticking: App = defineApp('ticking', {
  queues: { ticks: queue() },
  schedules: { often: schedule({ every: '1s', send: { queue: 'ticks' } }) },
})
