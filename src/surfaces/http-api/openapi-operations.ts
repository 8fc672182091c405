/** The OpenAPI description of each route. */
import type { DescribeRouteOptions, ResponsesWithResolver } from 'hono-openapi'
import { jobStatuses } from '../../core/job-state.ts'
import { switchScopes } from '../../operations/switches.ts'
import { type ProblemCode, problems } from './problems.ts'
import { defaultPageSize, pageSizes } from './read-query.ts'

type Parameter = NonNullable<DescribeRouteOptions['parameters']>[number]
type Schema = Extract<Parameter, { readonly schema?: unknown }>['schema']

export type OperationName =
  | 'enqueue'
  | 'list'
  | 'read'
  | 'attempts'
  | 'cancel'
  | 'retry'
  | 'events'
  | 'switches'
  | 'switchEvents'
  | 'setSwitch'
  | 'liftSwitch'
  | 'alive'
  | 'ready'
  | 'document'

const jobId: Parameter = {
  name: 'id',
  in: 'path',
  required: true,
  description: 'The id that the enqueue returned.',
  schema: { type: 'string' },
}

const switchTarget: readonly Parameter[] = [
  {
    name: 'scope',
    in: 'path',
    required: true,
    description: 'The kind of target. `name` is a switch name that queues and job types declare.',
    schema: { type: 'string', enum: [...switchScopes] },
  },
  {
    name: 'value',
    in: 'path',
    required: true,
    description: 'The target. Use the key or the name of a queue.',
    schema: { type: 'string' },
  },
]

export const onePage: readonly Parameter[] = [
  query('limit', {
    type: 'integer',
    minimum: pageSizes.min,
    maximum: pageSizes.max,
    default: defaultPageSize,
  }),
  query('after', { type: 'string', description: 'The `next` of the previous page.' }),
]

export const guarded: readonly ProblemCode[] = ['unauthenticated', 'unavailable', 'internal']
const ofOneJob: readonly ProblemCode[] = [...guarded, 'job_not_found']
const forAdmins: readonly ProblemCode[] = [...guarded, 'forbidden']
export const ofBodies: readonly ProblemCode[] = [
  'body_timeout',
  'too_large',
  'unsupported_media_type',
]

export const operations: Readonly<Record<OperationName, DescribeRouteOptions>> = {
  enqueue: {
    operationId: 'enqueueJob',
    summary: 'Enqueue a job',
    parameters: [
      {
        name: 'queue',
        in: 'path',
        required: true,
        description: 'The queue of the job.',
        schema: { $ref: '#/components/schemas/Queue' },
      },
      header('Idempotency-Key', 'Identifies repeated requests; the same as `idempotency_key`.'),
      header(
        'traceparent',
        'The trace of the caller, by W3C Trace Context. The job belongs to it.',
      ),
    ],
    requestBody: {
      required: true,
      content: { 'application/json': { schema: { $ref: '#/components/schemas/NewJob' } } },
    },
    responses: {
      202: answer('The job was enqueued, or the key was used before.', 'AcceptedJob', {
        Location: { description: 'The path of the job.', schema: { type: 'string' } },
        'Idempotent-Replayed': {
          description: '`true` if the key was used before and nothing was stored.',
          schema: { type: 'string' },
        },
      }),
      ...refusals(
        ...guarded,
        'invalid_request',
        'forbidden',
        ...ofBodies,
        'idempotency_conflict',
        'rate_limited',
      ),
    },
  },
  list: {
    operationId: 'listJobs',
    summary: 'List jobs, newest first',
    description: 'Admins see all jobs, other callers their own. Payloads and results are left out.',
    parameters: [
      query('queue', { type: 'string' }),
      query('status', { type: 'string', enum: [...jobStatuses] }),
      query('type', { type: 'string' }),
      query('owner', { type: 'string' }),
      ...onePage,
    ],
    responses: {
      200: answer('A page of jobs.', 'JobPage'),
      ...refusals(...guarded, 'invalid_request'),
    },
  },
  read: {
    operationId: 'readJob',
    summary: 'Read a job',
    parameters: [jobId],
    responses: { 200: answer('The job.', 'Job'), ...refusals(...ofOneJob) },
  },
  attempts: {
    operationId: 'listAttempts',
    summary: 'List the attempts of a job, oldest first',
    parameters: [jobId],
    responses: { 200: answer('The attempts.', 'Attempts'), ...refusals(...ofOneJob) },
  },
  cancel: {
    operationId: 'cancelJob',
    summary: 'Cancel a job that has not finished',
    parameters: [jobId],
    responses: {
      200: answer('The cancelled job.', 'Job'),
      ...refusals(...ofOneJob, 'job_finished'),
    },
  },
  retry: {
    operationId: 'retryJob',
    summary: 'Retry a failed or cancelled job, as a new job',
    parameters: [jobId],
    responses: {
      202: answer('The new job.', 'AcceptedJob'),
      ...refusals(...ofOneJob, 'job_not_finished', 'rate_limited'),
    },
  },
  events: {
    operationId: 'followJob',
    summary: 'Follow a job with server-sent events',
    description:
      'Events `status` and `progress` carry the job. The stream ends after the final state.',
    parameters: [jobId, header('Last-Event-ID', 'The id of the last event received.')],
    responses: {
      200: {
        description: 'The events.',
        content: { 'text/event-stream': { schema: { type: 'string' } } },
      },
      204: { description: 'The client already has the final state. Do not reconnect.' },
      ...refusals(...ofOneJob, 'too_many_streams'),
    },
  },
  switches: {
    operationId: 'listSwitches',
    summary: 'List the kill switches that are on',
    responses: {
      200: answer('The switches.', 'Switches'),
      ...refusals(...forAdmins),
    },
  },
  switchEvents: {
    operationId: 'listSwitchEvents',
    summary: 'List who turned which switches on and off, newest first',
    parameters: [...onePage],
    responses: {
      200: answer('A page of events.', 'SwitchEvents'),
      ...refusals(...forAdmins, 'invalid_request'),
    },
  },
  setSwitch: {
    operationId: 'setSwitch',
    summary: 'Turn a kill switch on, or change it',
    parameters: [...switchTarget],
    requestBody: {
      required: true,
      content: { 'application/json': { schema: { $ref: '#/components/schemas/NewSwitch' } } },
    },
    responses: {
      200: answer('The switch in its new state.', 'Switch'),
      ...refusals(...forAdmins, 'invalid_request', 'not_found', 'conflict', ...ofBodies),
    },
  },
  liftSwitch: {
    operationId: 'liftSwitch',
    summary: 'Turn a kill switch off',
    parameters: [...switchTarget, query('note', { type: 'string', description: 'Why.' })],
    responses: {
      204: { description: 'The switch is off.' },
      ...refusals(...forAdmins, 'invalid_request', 'switch_not_on'),
    },
  },
  alive: {
    operationId: 'isAlive',
    summary: 'Check that the process is alive',
    security: [],
    responses: { 200: answer('The process is alive.', 'Health') },
  },
  ready: {
    operationId: 'isReady',
    summary: 'Check that the process can use its store',
    security: [],
    responses: {
      200: answer('The store can be used.', 'Health'),
      503: answer('The store cannot be used.', 'Health'),
    },
  },
  document: {
    operationId: 'readOpenApi',
    summary: 'This document',
    responses: {
      200: {
        description: 'An OpenAPI 3.1 document.',
        content: { 'application/json': { schema: { type: 'object' } } },
      },
      ...refusals('unauthenticated'),
    },
  },
}

export function answer(
  description: string,
  schema: string,
  headers: NonNullable<
    Extract<ResponsesWithResolver[string], { description: string }>['headers']
  > = {},
): ResponsesWithResolver[string] {
  const content = { 'application/json': { schema: { $ref: `#/components/schemas/${schema}` } } }
  return { description, content, ...(Object.keys(headers).length > 0 && { headers }) }
}

/** Describes the error responses. Several problems may share a status. */
export function refusals(...codes: readonly ProblemCode[]): ResponsesWithResolver {
  const content = {
    'application/problem+json': { schema: { $ref: '#/components/schemas/Problem' } },
  }
  return Object.fromEntries(
    codes.map((code) => [problems[code].status, { description: problems[code].title, content }]),
  )
}

export function query(name: string, schema: Schema & object): Parameter {
  return { name, in: 'query', schema }
}

export function pathParameter(name: string, description: string): Parameter {
  return { name, in: 'path', required: true, description, schema: { type: 'string' } }
}

/** @param schema the name of a schema of the document */
export function jsonBody(schema: string): NonNullable<DescribeRouteOptions['requestBody']> {
  const content = { 'application/json': { schema: { $ref: `#/components/schemas/${schema}` } } }
  return { required: true, content }
}

function header(name: string, description: string): Parameter {
  return { name, in: 'header', description, schema: { type: 'string' } }
}
