/** What worker processes, and the tests that start and kill them, agree on: an app and its tasks. */
import { z } from 'zod'
import {
  type App,
  type Duration,
  defineApp,
  type JobsQueue,
  jobs,
  queue,
  type StandardQueue,
} from '../../src/index.ts'
import type { ChildMessage } from '../support/child-program.ts'

/** Long enough for a busy machine, short enough to wait for. */
export const leaseMs = 3_000
/** The pause between two slices of upkeep, of any process that has the store open. */
export const sweepMs = 1_000

const Task = z.object({
  takesMs: z.number().default(0),
  /** The attempts up to this one fail. */
  failsUntil: z.number().default(0),
  /**
   * `kill`: the process. `hang`: do not end, whatever happens. `listen`: do not end until asked to stop.
   * The last two do so only in a process that lets them.
   */
  does: z.enum(['work', 'kill', 'hang', 'listen']).default('work'),
  customer: z.string().optional(),
})

export type Task = z.input<typeof Task>
type Tasks = JobsQueue<{ TASK: typeof Task }>

const common = { types: { TASK: Task }, visibilityTimeout: `${leaseMs}ms`, deadLetter: {} } as const

/** Starts of `rated` in any window of this length. */
export const rate = { max: 50, per: '1s' } as const
/** Of `reserved` at once. */
export const reserved = 3
/** Of `keyed` at once, for each customer. */
export const perCustomer = 2

export const workshop: App<{
  tasks: Tasks
  rated: Tasks
  reserved: Tasks
  keyed: Tasks
  effects: StandardQueue<z.ZodString>
}> = defineApp('workshop', {
  queues: {
    tasks: jobs({ ...common, backoff: { from: '20ms', max: '200ms' } }),
    rated: jobs({ ...common, rate }),
    reserved: jobs({ ...common, concurrency: reserved }),
    keyed: jobs({ ...common, limits: [{ key: 'customer', concurrency: perCustomer }] }),
    /** One message here for each effect that a task had. */
    effects: queue({ schema: z.string() }),
  },
})

export type TaskQueue = 'tasks' | 'rated' | 'reserved' | 'keyed'

export interface WorkerArgument {
  /** A folder, or the URL of a database. */
  readonly store: string
  readonly poll: readonly TaskQueue[]
  readonly concurrency: number
  readonly stopTimeout?: Duration
  /** A database outside of Millrace that tasks write their effects to. */
  readonly ledger?: string
  /** Whether tasks write a row to the table `effect` of the store's database, within their settlement. */
  readonly writesWithin?: boolean
  /** Whether tasks that do not end by themselves may do so here. */
  readonly patient?: boolean
}

/** Told at the beginning of a handler and at its end, unless it fails. */
export interface TaskMessage extends ChildMessage {
  readonly kind: 'started' | 'ended'
  readonly queue: TaskQueue
  readonly id: string
  readonly attempt: number
  /** Names the lease, and so the run. */
  readonly token: number
  /** By the clock that all processes share, see `sharedMs`. */
  readonly atMs: number
  /** By the wall clock, which is also the store's. */
  readonly wallMs: number
}

/** Milliseconds since the machine was started: the same in all processes, and never set back. */
export function sharedMs(): number {
  return Number(process.hrtime.bigint()) / 1_000_000
}
