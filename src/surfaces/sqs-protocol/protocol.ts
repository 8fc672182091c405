/** What the two protocols of SQS have in common: a request becomes a call, its outcome a reply. */
import type { IncomingHttpHeaders } from 'node:http'
import type { Action } from './action.ts'
import type { Failure } from './failure.ts'
import type { Members } from './shapes.ts'

export interface WireRequest {
  readonly method: string
  readonly path: string
  /** What follows the question mark. */
  readonly query: string
  readonly headers: IncomingHttpHeaders
  readonly body: Buffer
}

export interface Call {
  readonly action: Action
  readonly input: Members
}

export interface Reply {
  readonly status: number
  readonly contentType: string
  readonly body: string
  /** The header `x-amzn-query-error`. */
  readonly queryError?: string
}

export interface Protocol {
  /** Throws an `SqsError` when the request means nothing. */
  read(request: WireRequest): Call
  answer(action: Action, output: Members, requestId: string): Reply
  fail(failure: Failure, requestId: string): Reply
}
