/** A refusal on its way to the client, as a problem document of RFC 9457. */

import type { Context } from 'hono'
import { jobLabelNames } from '../../core/job-labels.ts'
import { MillraceError, type Violation } from '../../core/millrace-error.ts'
import { snakeCase } from '../../core/snake-case.ts'
import type { ApiEnv } from './api-env.ts'
import { type ProblemCode, problemOf, problems } from './problems.ts'

/** A refused field and what it should have been; never what it was. */
export interface FieldError {
  readonly field: string
  readonly expected: string
}

export interface ApiProblemOptions {
  readonly errors?: readonly FieldError[]
  readonly headers?: Readonly<Record<string, string>>
  /** What more the document has to tell, such as who has a thing. */
  readonly members?: Readonly<Record<string, string | null>>
}

/** A body of nothing but mistakes need not come back whole. */
const errorsMax = 20

export class ApiProblem extends Error {
  override readonly name = 'ApiProblem'
  readonly code: ProblemCode
  readonly errors: readonly FieldError[]
  readonly headers: Readonly<Record<string, string>>
  readonly members: Readonly<Record<string, string | null>>

  constructor(code: ProblemCode, options: ApiProblemOptions = {}) {
    const { errors = [], headers = {}, members = {} } = options
    super(problems[code].title)
    this.code = code
    this.errors = errors.slice(0, errorsMax)
    this.headers = headers
    this.members = members
  }

  static invalid(...errors: readonly FieldError[]): ApiProblem {
    return new ApiProblem('invalid_request', { errors })
  }
}

/** What any error is to the client. What is not ours may say anything, so it says nothing. */
export function problemFrom(error: unknown): ApiProblem {
  if (error instanceof ApiProblem) return error
  if (!(error instanceof MillraceError)) return new ApiProblem('internal')
  return new ApiProblem(problemOf[error.code] ?? 'internal', {
    errors: error.violations.map(fieldError),
  })
}

/** Some options have other names in the API, and others again on the port. */
const apiFields: ReadonlyMap<string, string> = new Map([
  ['idempotencyKey', 'idempotency_key'],
  ['idempotency.key', 'idempotency_key'],
  ['delayMs', 'delay'],
  ['forMs', 'for'],
  ['leaseMs', 'for'],
  ['group', 'tenant'],
  ['maxAttempts', 'attempts'],
  ...jobLabelNames.map((name): [string, string] => [name, snakeCase(name)]),
  ['message', 'payload'],
  ['body', 'payload'],
])

function fieldError({ field, allowed }: Violation): FieldError {
  return { field: apiFields.get(field) ?? field, expected: allowed }
}

/** A field may be named by the client, with characters that break those who store the answer. */
function printable({ field, expected }: FieldError): FieldError {
  return { field: field.toWellFormed().replaceAll('\0', '\uFFFD'), expected }
}

/** The answer; equal problems have equal bytes, except that a failure carries its request id. */
export function answerProblem(c: Context<ApiEnv>, problem: ApiProblem): Response {
  const { code, errors, headers, members } = problem
  const kind = problems[code]
  const body = {
    type: `urn:millrace:problem:${code}`,
    title: kind.title,
    status: kind.status,
    detail: kind.detail,
    code,
    ...members,
    ...(errors.length > 0 && { errors: errors.map(printable) }),
    ...(code === 'internal' && { request_id: c.get('requestId') }),
  }
  const { retryAfterS } = kind
  const retryAfter = retryAfterS !== undefined && { 'retry-after': String(retryAfterS) }
  return c.body(`${JSON.stringify(body)}\n`, kind.status, {
    ...retryAfter,
    ...headers,
    'content-type': 'application/problem+json; charset=utf-8',
  })
}
