/**
 * Stores the messages of a send. A message with the attribute of a job type becomes a tracked job, whose id
 * is the MessageId.
 */
import type { NewJob } from '../../../backends/job-store.ts'
import { MillraceError } from '../../../core/millrace-error.ts'
import type { ActionContext } from '../action.ts'
import { invalidParameter } from '../refusals.ts'
import { jobOf } from './job-request.ts'
import type { Outgoing } from './outgoing-message.ts'

export interface Sent {
  readonly status: 'created' | 'duplicate' | 'coalesced'
  readonly id: string
  /** Undefined for jobs. */
  readonly sequence?: number
}

export interface Refused {
  readonly status: 'refused'
  readonly error: MillraceError
}

/** One result per message, in their order: each is stored or refused by itself. */
export async function sendEach(
  context: ActionContext,
  outgoing: readonly Outgoing[],
): Promise<readonly (Sent | Refused)[]> {
  const plain = outgoing.filter(({ job }) => job === undefined)
  if (plain.length === outgoing.length) return sendPlain(context, outgoing)
  // The calls arrive together, so they share a commit.
  const [sent, ...jobs] = await Promise.all([
    plain.length === 0 ? [] : sendPlain(context, plain),
    ...jobsOf(outgoing).map((job) => enqueueOne(context, job)),
  ])
  const nextSent = sent.values()
  const nextJob = jobs.values()
  return outgoing.flatMap(({ job }) => (job === undefined ? nextSent : nextJob).next().value ?? [])
}

/** All messages or none, as a batch of a FIFO queue is sent. Rejects with the first refusal. */
export async function sendAllOrNone(
  context: ActionContext,
  outgoing: readonly Outgoing[],
): Promise<readonly (Sent | Refused)[]> {
  const jobs = jobsOf(outgoing)
  if (jobs.length === 0) return sendPlain(context, outgoing, true)
  if (jobs.length < outgoing.length) {
    throw invalidParameter(
      'A batch for a FIFO queue must have only jobs, or only messages that are not jobs.',
    )
  }
  return enqueue(context, jobs)
}

function sendPlain(
  context: ActionContext,
  outgoing: readonly Outgoing[],
  allOrNothing = false,
): Promise<readonly (Sent | Refused)[]> {
  const messages = outgoing.map(({ message }) => message)
  const { name: queue } = context.queue()
  return context.store.send({ queue, messages, ...(allOrNothing && { allOrNothing }) })
}

function jobsOf(outgoing: readonly Outgoing[]): readonly NewJob[] {
  return outgoing.flatMap(({ job, message }) => (job === undefined ? [] : jobOf(job, message)))
}

async function enqueue(context: ActionContext, jobs: readonly NewJob[]): Promise<readonly Sent[]> {
  const { jobs: store } = context.store
  if (store === null) throw new MillraceError('unsupported')
  return store.enqueue({ queue: context.queue().name, jobs })
}

async function enqueueOne(context: ActionContext, job: NewJob): Promise<Sent | Refused> {
  try {
    const [enqueued] = await enqueue(context, [job])
    if (enqueued !== undefined) return enqueued
    // A store must return a result for each job, so this one violates the port.
    throw new MillraceError('store_failed')
  } catch (error) {
    if (error instanceof MillraceError) return { status: 'refused', error }
    throw error
  }
}
