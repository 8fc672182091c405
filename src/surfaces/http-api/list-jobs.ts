/** Lists jobs in pages, from one queue or from all queues of the app. */
import type { Page } from '../../backends/backend.ts'
import { checkOneOf, type Violations } from '../../core/checks.ts'
import { type JobStatus, jobStatuses } from '../../core/job-state.ts'
import { MillraceError } from '../../core/millrace-error.ts'
import type { ListJobsOptions } from '../../jobs/app-jobs.ts'
import type { Job } from '../../jobs/job.ts'
import { ApiProblem } from './api-problem.ts'
import { type Caller, isTrusted } from './caller.ts'
import { findQueue, type JobsContext, type KnownQueue } from './jobs-context.ts'
import { type Query, readPageSize, readQuery } from './read-query.ts'

export interface ListRequest extends ListJobsOptions {
  readonly queue?: string
  readonly limit: number
}

const parameters = ['queue', 'status', 'type', 'owner', 'limit', 'after'] as const

export function readListRequest(query: Query): ListRequest {
  const value = readQuery(query, parameters)
  const violations: Violations = []
  const limit = readPageSize(violations, value('limit'))
  const status = value('status')
  if (status !== undefined) checkOneOf(violations, 'status', status, jobStatuses)
  if (violations.length > 0) throw MillraceError.invalid(violations)
  const [queue, type, owner, after] = (['queue', 'type', 'owner', 'after'] as const).map(value)
  return {
    limit,
    ...(status !== undefined && { status: status as JobStatus }),
    ...(queue !== undefined && { queue }),
    ...(type !== undefined && { type }),
    ...(owner !== undefined && { owner }),
    ...(after !== undefined && { after }),
  }
}

/** Callers who are not admins see only their own jobs. Other filters return an empty page. */
export async function listJobs(
  context: JobsContext,
  caller: Caller,
  { queue, ...request }: ListRequest,
): Promise<Page<Job>> {
  const queues = queuesOf(context, caller, queue)
  if (caller.role === 'admin') return mergedPage(context, queues, request)
  const { owner } = caller
  if (owner === null || (request.owner ?? owner) !== owner) return { items: [] }
  return mergedPage(context, queues, { ...request, owner })
}

function queuesOf(
  context: JobsContext,
  caller: Caller,
  text: string | undefined,
): readonly KnownQueue[] {
  if (text === undefined) return context.queues
  const queue = findQueue(context, text)
  if (queue !== undefined) return [queue]
  // Users must not learn which queues exist.
  if (!isTrusted(caller)) return []
  throw new ApiProblem('unknown_queue')
}

/**
 * Ids rise with time across all queues of a store, so they also mark a position in a merged list. A page of
 * one queue may end early. Entries of other queues beyond that point are left for the next page.
 */
async function mergedPage(
  { jobs }: JobsContext,
  queues: readonly KnownQueue[],
  request: Omit<ListRequest, 'queue'>,
): Promise<Page<Job>> {
  const pages = await Promise.all(queues.map(({ key }) => jobs.list(key, request)))
  const reached = pages.reduce<string>((far, { next = '' }) => (next > far ? next : far), '')
  const found = pages
    .flatMap(({ items }) => items)
    .filter(({ id }) => id >= reached)
    .sort((left, right) => (left.id < right.id ? 1 : -1))
  const items = found.slice(0, request.limit)
  const next = found.length > items.length ? items.at(-1)?.id : reached
  return next ? { items, next } : { items }
}
