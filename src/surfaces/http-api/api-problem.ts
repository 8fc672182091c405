/** An error response: a problem document as defined by RFC 9457. */

import type { Context } from 'hono'
import { durationForms } from '../../core/durations.ts'
import { jobLabelNames } from '../../core/job-labels.ts'
import { MillraceError, type Violation } from '../../core/millrace-error.ts'
import { snakeCase } from '../../core/snake-case.ts'
import type { ApiEnv } from './api-env.ts'
import { type ProblemCode, problemOf, problems } from './problems.ts'

/** A rejected field and the expected value; never the given value. */
export interface FieldError {
  readonly field: string
  readonly expected: string
}

export interface ApiProblemOptions {
  readonly errors?: readonly FieldError[]
  readonly headers?: Readonly<Record<string, string>>
  /** Additional members of the document, such as the holder of a claim. */
  readonly members?: Readonly<Record<string, string | null>>
}

/** Limits the size of the response to a body with many mistakes. */
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

/** The response to any error. The texts of foreign errors may be private, so they are not shown. */
export function problemFrom(error: unknown): ApiProblem {
  if (error instanceof ApiProblem) return error
  if (!(error instanceof MillraceError)) return new ApiProblem('internal')
  return new ApiProblem(problemOf[error.code] ?? 'internal', {
    errors: error.violations.map(fieldError),
  })
}

/** Fields of the API by the names of their options in code. */
const apiFields: ReadonlyMap<string, string> = new Map([
  ['idempotencyKey', 'idempotency_key'],
  ['idempotency.key', 'idempotency_key'],
  ['debounce.maxWait', 'debounce.max_wait'],
  ['delayMs', 'delay'],
  ['runAt', 'run_at'],
  ['expiresAfter', 'expires_after'],
  ['forMs', 'for'],
  ['leaseMs', 'for'],
  ['group', 'tenant'],
  ['maxAttempts', 'attempts'],
  ...jobLabelNames.map((name): [string, string] => [name, snakeCase(name)]),
  ['message', 'payload'],
  ['body', 'payload'],
])

/** Names of options that no other word of a text can be. */
const optionNames = new RegExp(
  `\\b(?:${[...apiFields.keys()].filter((name) => /^[a-z]+[A-Z]\w*$/.test(name)).join('|')})\\b`,
  'g',
)

/** The error in the words of the API. Inside a payload, names are those of its contract. */
function fieldError({ field: option, allowed }: Violation): FieldError {
  const field = apiFields.get(option) ?? option
  if (/^(?:message|body|payload)\b/.test(option)) return { field, expected: allowed }
  if (allowed === durationForms.inCode) return { field, expected: durationForms.inText }
  return { field, expected: allowed.replace(optionNames, (name) => apiFields.get(name) ?? name) }
}

/** Replaces control characters: the client chose the name of the field. */
function printable({ field, expected }: FieldError): FieldError {
  return { field: field.toWellFormed().replaceAll('\0', '\uFFFD'), expected }
}

/** Equal problems have equal responses, except that a server error includes its request id. */
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
