/** What was sent and enqueued in a test, typed by the contracts of the app. */
import type { MessageAttribute } from '../backends/backend.ts'
import type { RecordingStore } from '../backends/sqlite/index.ts'
import type { DeclaredQueues } from '../contracts/define-app.ts'
import { isJobsQueue, type JobOutput, type JobTypeName } from '../contracts/jobs-declaration.ts'
import type { DeclaredQueue, MessageOutput } from '../contracts/queue-declaration.ts'
import type { NamedQueue } from '../contracts/resolve-names.ts'
import { describeGiven } from '../core/checks.ts'
import { didYouMean } from '../core/did-you-mean.ts'
import type { JobStatus } from '../core/job-state.ts'
import { MillraceError } from '../core/millrace-error.ts'
import { type OptionNames, refuseUnknownOptions } from '../core/options.ts'
import type { JobsKey, UntypedJobs } from '../jobs/app-jobs.ts'
import type { Job } from '../jobs/job.ts'
import { readDelivery } from '../receiving/read-delivery.ts'
import type { MessagesKey } from '../worker/handler-context.ts'

export interface SentMessage<Message = unknown> {
  /** The output of the queue's schema. */
  readonly message: Message
  readonly id: string
  /** Milliseconds since the epoch, in virtual time. */
  readonly sentAt: number
  /** When it can first be received: later than `sentAt` if it was delayed. */
  readonly readyAt: number
  readonly tenant: string | null
  readonly group: string | null
  readonly deduplicationId: string | null
  readonly attributes: Readonly<Record<string, MessageAttribute>>
}

export interface SentFilter<Sent> {
  /** Only messages for which it returns true. */
  readonly where?: (sent: Sent) => boolean
}

/** A job with the payload that its handler gets. */
export type SpiedJob<Queue, Name extends JobTypeName<Queue> = JobTypeName<Queue>> =
  Name extends JobTypeName<Queue>
    ? Omit<Job, 'type' | 'payload'> & {
        readonly type: Name
        /** The output of the type's schema. */
        readonly payload: JobOutput<Queue, Name>
      }
    : never

export interface JobFilter<Spied, Name extends string = string> {
  readonly type?: Name
  readonly status?: JobStatus
  /** Only jobs for which it returns true. */
  readonly where?: (job: Spied) => boolean
}

export type SentSpy<Queues extends DeclaredQueues> = <Key extends MessagesKey<Queues>>(
  queue: Key,
  filter?: SentFilter<SentMessage<MessageOutput<Extract<Queues[Key], DeclaredQueue>>>>,
) => Promise<readonly SentMessage<MessageOutput<Extract<Queues[Key], DeclaredQueue>>>[]>

export type JobsSpy<Queues extends DeclaredQueues> = <
  Key extends JobsKey<Queues>,
  Name extends JobTypeName<Queues[Key]> = JobTypeName<Queues[Key]>,
>(
  queue: Key,
  filter?: JobFilter<SpiedJob<Queues[Key], Name>, Name>,
) => Promise<readonly SpiedJob<Queues[Key], Name>[]>

export interface SpiesSetup {
  readonly queues: readonly NamedQueue[]
  readonly store: Pick<RecordingStore, 'sentMessages'>
  readonly jobs: Pick<UntypedJobs, 'list'>
}

const sentOptions: OptionNames<SentFilter<unknown>> = { where: true }
const jobOptions: OptionNames<JobFilter<unknown>> = { type: true, status: true, where: true }

const pageMax = 1_000

export function sentSpy<Queues extends DeclaredQueues>(setup: SpiesSetup): SentSpy<Queues> {
  const spy = async (
    key: string,
    filter: SentFilter<SentMessage> = {},
  ): Promise<readonly SentMessage[]> => {
    refuseUnknownOptions(filter, sentOptions)
    const { name, declared } = namedQueue(setup.queues, key, { isJobs: false })
    const records = await setup.store.sentMessages({ queue: name })
    const isFifo = declared.type === 'fifo'
    const sent = await Promise.all(
      records.map(async ({ body, group, sequence: _, ...record }) => ({
        ...record,
        message: await contentOf(declared, { body, job: null }),
        tenant: isFifo ? null : group,
        group: isFifo ? group : null,
      })),
    )
    return sent.filter(filter.where ?? (() => true))
  }
  // The store has what the contract of the queue let in.
  return spy as SentSpy<Queues>
}

export function jobsSpy<Queues extends DeclaredQueues>(setup: SpiesSetup): JobsSpy<Queues> {
  const spy = async (key: string, filter: JobFilter<Job> = {}): Promise<readonly Job[]> => {
    refuseUnknownOptions(filter, jobOptions)
    const { where = () => true, ...filters } = filter
    const { declared } = namedQueue(setup.queues, key, { isJobs: true })
    const found: Job[] = []
    let after: string | undefined
    do {
      const request = { ...filters, limit: pageMax, ...(after !== undefined && { after }) }
      const { items, next } = await setup.jobs.list(key, request)
      found.push(...items)
      after = next
    } while (after !== undefined)
    const jobs = await Promise.all(
      found.toReversed().map(async (job) => {
        const delivery = { body: JSON.stringify(job.payload), job: { type: job.type } }
        return { ...job, payload: await contentOf(declared, delivery) }
      }),
    )
    return jobs.filter(where)
  }
  return spy as unknown as JobsSpy<Queues>
}

interface Content {
  readonly body: string
  readonly job: { readonly type: string } | null
}

/** What a handler gets. Other programs may write what fits no contract: that is only parsed. */
async function contentOf(declared: DeclaredQueue, { body, job }: Content): Promise<unknown> {
  const read = await readDelivery(declared, { body, job } as Parameters<typeof readDelivery>[1])
  return read.status === 'read' ? read.message : JSON.parse(body)
}

function namedQueue(
  queues: readonly NamedQueue[],
  key: string,
  { isJobs }: { readonly isJobs: boolean },
): NamedQueue {
  const fitting = queues.filter(({ declared }) => isJobsQueue(declared) === isJobs)
  const queue = fitting.find((one) => one.key === key)
  if (queue !== undefined) return queue
  const keys = fitting.map((one) => one.key)
  const kind = isJobs ? 'a jobs queue' : 'a queue of plain messages'
  const allowed = `the key of ${kind}${didYouMean(String(key), keys)}`
  throw MillraceError.invalid([{ field: 'queue', given: describeGiven(key), allowed }])
}
