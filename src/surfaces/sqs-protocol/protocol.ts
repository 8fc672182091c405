/** The interface of both SQS protocols: parses a request into a call, and formats the result as a reply. */
import type { IncomingHttpHeaders } from 'node:http'
import type { Action } from './action.ts'
import type { Failure } from './failure.ts'
import type { Members } from './shapes.ts'

export interface WireRequest {
  readonly method: string
  readonly path: string
  /** The part after the question mark. */
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
  /** Throws an `SqsError` if the request cannot be parsed. */
  read(request: WireRequest): Call
  answer(action: Action, output: Members, requestId: string): Reply
  fail(failure: Failure, requestId: string): Reply
}
