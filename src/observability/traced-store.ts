/**
 * The calls of a store that an app makes for its callers, with spans. Messages and jobs carry the context of
 * the span that created them. A worker calls the store itself, and makes its own spans.
 */
import type {
  Backend,
  Delivery,
  Emitted,
  EmittedJob,
  EmittedMessage,
  NewMessage,
  Receive,
  Send,
  SendResult,
  Settle,
  SettleResult,
} from '../backends/backend.ts'
import type { EnqueuedJob, EnqueueJobs, JobStore, NewJob } from '../backends/job-store.ts'
import { MillraceError } from '../core/millrace-error.ts'
import { type TraceCarrier, traceCarrierOf } from '../core/trace-context.ts'
import {
  failureOf,
  inSpan,
  type SpanAttributes,
  type SpanRequest,
  type TraceSpan,
  type Traces,
} from './traces.ts'

export type CalledStore = Pick<Backend, 'send' | 'receive' | 'extend' | 'settle'>

export function tracedStore(store: CalledStore, traces: Traces): CalledStore {
  return {
    send: (request) => tracedSend(store, traces, request),
    receive: (request) => tracedReceive(store, traces, request),
    extend: (request) => store.extend(request),
    settle: (request) => tracedSettle(store, traces, request),
  }
}

export function tracedJobs(store: JobStore, traces: Traces): JobStore {
  return {
    ...store,
    enqueue: (request) => {
      const { spanRequest, jobsIn } = enqueuing(traces, request)
      return inSpan(traces, spanRequest, async (span) =>
        noteEnqueued(span, await store.enqueue({ ...request, jobs: jobsIn(span) })),
      )
    },
    enqueueWithin: (request) => {
      const { spanRequest, jobsIn } = enqueuing(traces, request)
      const span = traces.start(spanRequest)
      const failed = (error: unknown): never => {
        span.fail(failureOf(error))
        span.end()
        throw error
      }
      try {
        const jobs = span.run(() => jobsIn(span))
        return store.enqueueWithin({ ...request, jobs }).then((enqueued) => {
          noteEnqueued(span, enqueued)
          span.end()
          return enqueued
        }, failed)
      } catch (error) {
        return failed(error)
      }
    },
    retry: (request) => {
      const carrier = traces.activeCarrier()
      return store.retry(
        carrier === undefined ? request : { ...request, systemAttributes: { ...carrier } },
      )
    },
  }
}

/** A message or job that is stored in the commit of something else. */
export function created<One extends Emitted>(traces: Traces, emitted: One): One
export function created(traces: Traces, emitted: EmittedJob | EmittedMessage): Emitted {
  const { queue } = emitted
  return 'job' in emitted
    ? { queue, job: createdJob(traces, queue, emitted.job) }
    : { queue, message: createdMessage(traces, queue, emitted.message) }
}

/** Makes the span of one message or item, and returns what it carries. */
export function createdContext(
  traces: Traces,
  request: Omit<SpanRequest, 'operation'>,
): Pick<TraceSpan, 'traceId' | 'carrier'> {
  const span = traces.start({ ...request, operation: 'create' })
  const { traceId, carrier } = span
  span.end()
  return { traceId, carrier }
}

function tracedSend(
  store: Pick<Backend, 'send'>,
  traces: Traces,
  request: Send,
): Promise<readonly SendResult[]> {
  const { queue, messages } = request
  return inSpan(traces, sendSpan(queue, messages), async (span) => {
    const sent = messages.map((message) =>
      messages.length === 1
        ? carrying(message, span.carrier)
        : createdMessage(traces, queue, message),
    )
    const results = await store.send({ ...request, messages: sent })
    const [only, ...others] = results
    if (only !== undefined && only.status !== 'refused' && others.length === 0) {
      span.set({ 'messaging.message.id': only.id, 'millrace.status': only.status })
    }
    return results
  })
}

/** One span for a receive that has leased messages or has failed. Waiting in vain leaves none. */
async function tracedReceive(
  store: Pick<Backend, 'receive'>,
  traces: Traces,
  request: Receive,
): Promise<readonly Delivery[]> {
  const { queue: destination, max } = request
  const begun = { operation: 'receive', destination, startedAt: traces.now() } as const
  try {
    const deliveries = await store.receive(request)
    if (deliveries.length > 0) {
      const links = deliveries.flatMap((delivery) => traceCarrierOf(delivery) ?? [])
      const attributes =
        max > 1
          ? { 'messaging.batch.message_count': deliveries.length }
          : { 'messaging.message.id': deliveries[0]?.id }
      traces.start({ ...begun, links, attributes }).end()
    }
    return deliveries
  } catch (error) {
    const isExpected = error instanceof MillraceError && error.code === 'aborted'
    if (!isExpected && !request.signal?.aborted) {
      const span = traces.start(begun)
      span.fail(failureOf(error))
      span.end()
    }
    throw error
  }
}

function tracedSettle(
  store: Pick<Backend, 'settle'>,
  traces: Traces,
  request: Settle,
): Promise<readonly SettleResult[]> {
  const { queue: destination, settlements } = request
  const attributes = {
    ...batchOf(settlements),
    'millrace.outcome': settlements.length === 1 ? settlements[0]?.outcome.kind : undefined,
  }
  return inSpan(traces, { operation: 'settle', destination, attributes }, async (span) => {
    const results = await store.settle(request)
    const lost = results.find(({ status }) => status !== 'settled')
    if (lost !== undefined) noteUnsettled(span, lost)
    return results
  })
}

/** A lease that has ended is a normal result, but not a success. */
export function noteUnsettled(span: TraceSpan, result: SettleResult): void {
  if (result.status === 'settled') return
  if (result.status === 'refused') span.fail(failureOf(result.error))
  else span.fail({ type: `lease_${result.status}`, message: 'The lease had ended.' })
}

function batchOf(entries: readonly unknown[]): SpanAttributes {
  return entries.length > 1 ? { 'messaging.batch.message_count': entries.length } : {}
}

function sendSpan(destination: string, entries: readonly unknown[]): SpanRequest {
  const isCreated = entries.length > 1
  return { operation: 'send', destination, isCreated, attributes: batchOf(entries) }
}

interface Enqueuing {
  readonly spanRequest: SpanRequest
  /** The jobs as they are stored by a call in this span. */
  jobsIn(span: TraceSpan): readonly NewJob[]
}

function enqueuing(traces: Traces, { queue, jobs }: EnqueueJobs): Enqueuing {
  const spanRequest = sendSpan(queue, jobs)
  const [first, ...others] = jobs
  // A caller may name the trace of a job by a header. An active span comes first.
  const hasActive = traces.activeCarrier() !== undefined
  const parentOf = (job: NewJob): TraceCarrier | undefined =>
    hasActive ? undefined : namedContext(job)
  if (first === undefined || others.length > 0) {
    return {
      spanRequest,
      jobsIn: () => jobs.map((job) => createdJob(traces, queue, job, parentOf(job))),
    }
  }
  const attributes = { 'millrace.job.type': first.type }
  return {
    spanRequest: { ...spanRequest, attributes, parent: parentOf(first) },
    jobsIn: (span) => [jobCarrying(first, span)],
  }
}

function namedContext({ systemAttributes = {} }: NewJob): TraceCarrier | undefined {
  return traceCarrierOf({ attributes: {}, systemAttributes })
}

function noteEnqueued(span: TraceSpan, enqueued: readonly EnqueuedJob[]): readonly EnqueuedJob[] {
  const [only, ...others] = enqueued
  if (only !== undefined && others.length === 0) {
    const { id, status } = only
    span.set({ 'messaging.message.id': id, 'millrace.job.id': id, 'millrace.status': status })
  }
  return enqueued
}

function createdJob(
  traces: Traces,
  destination: string,
  job: NewJob,
  parent?: TraceCarrier,
): NewJob {
  const attributes = { 'millrace.job.type': job.type }
  return jobCarrying(job, createdContext(traces, { destination, attributes, parent }))
}

function createdMessage(traces: Traces, destination: string, message: NewMessage): NewMessage {
  return carrying(message, createdContext(traces, { destination }).carrier)
}

/** The label ties the job to its trace in listings and logs, unless the caller gave another one. */
function jobCarrying(job: NewJob, span: Pick<TraceSpan, 'traceId' | 'carrier'>): NewJob {
  const { carrier, traceId } = span
  return carrier === undefined ? job : { traceId, ...carrying(job, carrier) }
}

/** Returns the message, job or item with the context beside it. */
export function carrying<
  One extends { readonly systemAttributes?: Readonly<Record<string, string>> },
>(one: One, carrier: TraceCarrier | undefined): One {
  if (carrier === undefined) return one
  return { ...one, systemAttributes: { ...one.systemAttributes, ...carrier } }
}
