/**
 * Reports on a job from the program that runs it, when that program does not use a worker: progress, result
 * and failure, by the receipt of the job's lease. The rules are those of workers: the same contract for the
 * result, the same waits between attempts, and nothing changes once the lease has ended.
 */
import type { Backend, LeaseRefusal, Outcome } from '../backends/backend.ts'
import type { UnitKey } from '../backends/flow-store.ts'
import type { JobRecord, JobStore } from '../backends/job-store.ts'
import { hiddenPathsOf } from '../contracts/hidden-paths.ts'
import { isJobsQueue, type JobType, jobTypeOf } from '../contracts/jobs-declaration.ts'
import type { DeclaredQueue } from '../contracts/queue-declaration.ts'
import { backoffOf } from '../contracts/resolve-controls.ts'
import { type Duration, durationMs } from '../core/durations.ts'
import type { JobStatus } from '../core/job-state.ts'
import { limits } from '../core/limits.ts'
import { MillraceError } from '../core/millrace-error.ts'
import { type OptionNames, refuseUnknownOptions } from '../core/options.ts'
import type { Ports } from '../core/ports.ts'
import { inCallerNames } from '../core/rename-fields.ts'
import { supported } from '../core/supported.ts'
import type { FlowEmits } from '../flows/emitted-flows.ts'
import { type EmittedList, LeaseClient } from '../receiving/lease-client.ts'
import { type AttemptEnd, outcomeOf } from './attempt-end.ts'
import { eventAfter, eventOf } from './attempt-facts.ts'
import { endOf } from './handler-result.ts'
import { hiddenInBody } from './hidden-values.ts'
import { type FailureReport, failedEnd } from './reported-failure.ts'
import { type Report, type SpendingReport, spendingsOf } from './reported-spending.ts'
import type { WorkerEvent } from './worker-event.ts'

export type { FailureReport, ReportedError } from './reported-failure.ts'
export type { Report, SpendingReport } from './reported-spending.ts'

export interface JobReports {
  /** Notes how far the job is, from 0 to 1. */
  progress(id: string, report: ProgressReport): Promise<Reported>
  /** Completes the job. The result must fit the contract of the job type. */
  complete(id: string, report: CompletionReport): Promise<Reported>
  /** Ends the attempt. The job is retried by its backoff, or fails after its last attempt. */
  fail(id: string, report: FailureReport): Promise<Reported>
  /** Moves the end of the lease to this long from now. */
  extend(id: string, report: ExtensionReport): Promise<Reported>
}

export interface ProgressReport extends SpendingReport {
  readonly progress: number
}

export interface CompletionReport extends SpendingReport {
  /** Any JSON value. Default: none. */
  readonly result?: unknown
}

export interface ExtensionReport extends Report {
  readonly for: Duration
}

/** The status of the job after the report, or why the lease cannot be used. Then nothing has changed. */
export type Reported =
  | {
      readonly status: 'reported'
      readonly job: JobStatus
      /** The wait before the next attempt, after a failure that is retried. */
      readonly retryInMs?: number
      /** The new end of the lease, after an extension. */
      readonly leaseExpiresAt?: number
    }
  | { readonly status: LeaseRefusal; readonly job: JobStatus }

export interface JobReportsSetup {
  readonly backend: Pick<Backend, 'jobs' | 'readQueue' | 'leaseStates' | 'extend' | 'settle'>
  readonly ports: Pick<Ports, 'randomness'>
  /** The declared queue with this name in the store; undefined if no app declares it. */
  readonly find: (name: string) => ReportedQueue | undefined
  /** Starts the next step of a chain. Absent where no app is open. */
  readonly successor?: FlowEmits['successor']
  /** Called after each settled attempt, as a worker does. */
  readonly observe?: ((event: WorkerEvent) => void) | undefined
}

export interface ReportedQueue {
  readonly key: string
  readonly declared: DeclaredQueue
}

/** A job whose receipt was checked. The receipt may still be of an earlier lease. */
interface Leased {
  readonly job: JobRecord
  readonly lease: { readonly queue: string; readonly receipt: string }
  readonly queue: ReportedQueue | undefined
  readonly unit: UnitKey | null
}

export function createJobReports(setup: JobReportsSetup): JobReports {
  const { backend } = setup
  const client = new LeaseClient(backend)
  const jobs = (): JobStore => supported(backend.jobs)
  const refused = async (id: string, status: LeaseRefusal): Promise<Reported> => ({
    status,
    // A job that was removed since has no status any more, and cannot be worked on.
    job: (await jobs().read({ id }))?.status ?? 'cancelled',
  })
  const settle = async (
    leased: Leased,
    outcome: Outcome,
    emitted: EmittedList = {},
  ): Promise<Reported> => {
    // The store accepts a late acknowledgement while no other receiver has the message. A report must be in
    // time, because the attempt already counts as lost.
    const { queue, receipt } = leased.lease
    const [state = 'gone'] = await backend.leaseStates({ queue, receipts: [receipt] })
    if (state !== 'live') return refused(leased.job.id, state)
    const { status } = await client.settle(leased.lease, outcome, emitted).catch((error) => {
      throw inCallerNames(error, reportNames)
    })
    if (status !== 'settled') return refused(leased.job.id, status)
    setup.observe?.(await eventFor(jobs(), leased, outcome))
    return reportedAfter(outcome)
  }
  return {
    progress: async (id, report) => {
      refuseUnknownOptions(report, progressFields)
      const spent = spendingsOf(report)
      const { lease } = await leasedJob(setup, id, report)
      const { progress } = report
      const noted = await jobs().reportProgress({ ...lease, progress, ...spent })
      if (noted.status === 'refused') throw noted.error
      if (noted.status !== 'noted') return refused(id, noted.status)
      return { status: 'reported', job: 'processing' }
    },
    complete: async (id, report) => {
      refuseUnknownOptions(report, completionFields)
      const spent = spendingsOf(report)
      const leased = await leasedJob(setup, id, report)
      const result = await checkedResult(leased, report)
      const outcome = { kind: 'acknowledge', ...(result !== undefined && { result }) } as const
      const next = await nextStep(setup, leased, result)
      return settle(leased, outcome, { ...next, ...spent })
    },
    fail: async (id, report) => {
      const end = failedEnd(report)
      const spent = spendingsOf(report)
      const leased = await leasedJob(setup, id, report)
      return settle(leased, await outcomeAfter(setup, leased, end), spent)
    },
    extend: async (id, report) => {
      refuseUnknownOptions(report, extensionFields)
      const visibilityMs = durationMs(report.for, 'for', limits.visibilityMs)
      const { lease } = await leasedJob(setup, id, report)
      const extended = await client.extend(lease, visibilityMs)
      if (extended.status !== 'extended') return refused(id, extended.status)
      const { leaseExpiresAt } = extended
      return { status: 'reported', job: 'processing', leaseExpiresAt }
    },
  }
}

/** The names of fields in reports, by those of the store. */
const reportNames: ReadonlyMap<string, string> = new Map([['outcome.delayMs', 'retry.delay']])

const progressFields: OptionNames<ProgressReport> = { receipt: true, progress: true, spent: true }
const completionFields: OptionNames<CompletionReport> = { receipt: true, result: true, spent: true }
const extensionFields: OptionNames<ExtensionReport> = { receipt: true, for: true }

/** Rejects with `receipt_invalid`, or with `job_not_found` if the receipt is for another job. */
async function leasedJob(setup: JobReportsSetup, id: string, { receipt }: Report): Promise<Leased> {
  if (typeof receipt !== 'string') throw receiptInvalid()
  const jobs = supported(setup.backend.jobs)
  const job = await jobs.read({ id })
  if (job === undefined) throw new MillraceError('job_not_found')
  const lease = { queue: job.queue, receipt }
  const named = await jobs.readReceipt(lease).catch(unlessQueueIsGone)
  if (named?.id !== id) throw new MillraceError('job_not_found')
  return { job, lease, queue: setup.find(job.queue), unit: named.unit }
}

/** The jobs of a deleted queue are still kept, but no receipt is for them. */
function unlessQueueIsGone(error: unknown): undefined {
  if (!(error instanceof MillraceError)) throw error
  if (error.code === 'receipt_invalid') throw receiptInvalid()
  if (error.code !== 'queue_not_found') throw error
}

function receiptInvalid(): MillraceError {
  const allowed = 'the receipt of a receive, unchanged'
  const violation = { field: 'receipt', given: 'another value', allowed }
  return MillraceError.invalid([violation], 'receipt_invalid')
}

function typeOf({ job, queue }: Leased): JobType | undefined {
  const declared = queue?.declared
  return declared !== undefined && isJobsQueue(declared) ? jobTypeOf(declared, job.type) : undefined
}

/** The result as JSON. Throws if it is too large, or does not fit the contract of the type. */
async function checkedResult(
  leased: Leased,
  { result }: CompletionReport,
): Promise<string | undefined> {
  const end = await endOf(result, { result: typeOf(leased)?.result })
  return end.how === 'returned' ? end.result : undefined
}

async function nextStep(
  { successor }: JobReportsSetup,
  { job: { owner, tenant, traceId }, unit }: Leased,
  result: string | undefined,
): Promise<EmittedList> {
  if (unit === null || successor === undefined) return {}
  const facts = { owner, tenant, traceId }
  const start = await successor({ unit, result, takenOverBy: undefined, facts })
  return start === undefined ? {} : { starts: [start] }
}

async function outcomeAfter(
  { backend, ports }: JobReportsSetup,
  leased: Leased,
  end: AttemptEnd,
): Promise<Outcome> {
  const { job, queue } = leased
  const hidden =
    queue === undefined
      ? (await backend.readQueue({ queue: job.queue })).settings.hidden
      : hiddenPathsOf(queue.declared, job.type)
  return outcomeOf(end, {
    attempt: job.attemptsMade,
    maxAttempts: job.maxAttempts,
    backoff: job.backoff ?? backoffOf(typeOf(leased)?.backoff, queue?.declared.options.backoff),
    canFail: true,
    abortKind: undefined,
    hide: hiddenInBody(job.payload, undefined, hidden),
    chance: ports.randomness.next(),
  })
}

function reportedAfter(outcome: Outcome): Reported {
  switch (outcome.kind) {
    case 'acknowledge':
      return { status: 'reported', job: 'completed' }
    case 'deadLetter':
      return { status: 'reported', job: 'failed' }
    case 'release':
      return { status: 'reported', job: 'pending' }
    case 'retry':
      return { status: 'reported', job: 'pending', retryInMs: outcome.delayMs }
  }
}

async function eventFor(
  jobs: JobStore,
  { job, queue }: Leased,
  outcome: Outcome,
): Promise<WorkerEvent> {
  const { id, type, attemptsMade: attempt, maxAttempts, traceId } = job
  const facts = { queue: queue?.key ?? job.queue, type, id, attempt, maxAttempts, traceId }
  const [event, details] = eventAfter(outcome, undefined)
  const ended = (await jobs.attempts({ id })).find((one) => one.attempt === attempt)
  const durationMs = (ended?.endedAt ?? 0) - (ended?.startedAt ?? 0)
  return eventOf(event, facts, { ...details, durationMs: Math.max(0, durationMs) })
}
