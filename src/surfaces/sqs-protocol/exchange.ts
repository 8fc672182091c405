/**
 * Handles one request: authenticates it, parses it, runs the action, and sends the response. Only the action
 * is between this file and the store.
 */
import type { IncomingMessage, ServerResponse } from 'node:http'
import { isRefused } from '../../core/millrace-error.ts'
import type { Logger } from '../../observability/logger.ts'
import type { AccessControl } from './access/access-control.ts'
import type { RequestHead } from './access/canonical-request.ts'
import type { Action, Caller } from './action.ts'
import { isForm } from './content-types.ts'
import { type Failure, failureOf } from './failure.ts'
import { jsonProtocol } from './json-protocol.ts'
import { logFailure } from './log-failure.ts'
import { type OtherService, otherServiceOf } from './other-services.ts'
import type { Protocol, Reply } from './protocol.ts'
import { queryProtocol, queryProtocolInJson } from './query-protocol.ts'
import { bodyBytesMax, readBody } from './read-body.ts'
import { type ContextSetup, RequestContext } from './request-context.ts'
import { type RequestTarget, targetOf } from './request-target.ts'
import type { Members } from './shapes.ts'
import { SqsError } from './sqs-error.ts'

export interface ExchangeSetup extends ContextSetup {
  readonly access: AccessControl
  readonly log: Logger
}

export class Exchange {
  readonly #setup: ExchangeSetup
  readonly #request: IncomingMessage
  readonly #response: ServerResponse
  readonly #requestId: string
  readonly #other: OtherService | undefined
  readonly #protocol: Protocol
  readonly #target: RequestTarget
  #action: Action | undefined

  constructor(setup: ExchangeSetup, request: IncomingMessage, response: ServerResponse) {
    this.#setup = setup
    this.#request = request
    this.#response = response
    this.#requestId = setup.ports.ids.next()
    this.#other = otherServiceOf(this.#head(), request.headers)
    this.#protocol = this.#other?.protocol ?? protocolOf(request)
    this.#target = targetOf(request.url ?? '/')
  }

  begin(): void {
    try {
      this.#setup.access.checkHeaders(this.#head())
      if (this.#other !== undefined) throw this.#other.error
      refuseEncoding(this.#request)
    } catch (error) {
      this.#fail(error)
      return
    }
    readBody(this.#request, (body) => {
      if (body === undefined) this.#fail(tooLarge())
      else this.#received(body)
    })
  }

  #received(body: Buffer): void {
    try {
      const caller = this.#authenticate(body)
      const { method = 'GET', headers } = this.#request
      const { action, input } = this.#protocol.read({ method, headers, body, ...this.#target })
      this.#action = action
      this.#setup.access.refuseAction?.(this.#head(), action.name)
      const { QueueUrl: url } = input
      const context = new RequestContext(this.#setup, {
        request: this.#request,
        path: this.#target.path,
        caller,
        queueUrl: typeof url === 'string' && url !== '' ? url : undefined,
      })
      const region = context.findRegion()
      const run = (): Promise<Members> => action.run(context, input)
      const running = region === undefined ? run() : region.then(run)
      running
        .then((output) => this.#succeed(action, context, output))
        .catch((error) => this.#fail(error))
    } catch (error) {
      this.#fail(error)
    }
  }

  #authenticate(body: Buffer): Caller {
    const { account, region } = this.#setup.access.authenticate({ ...this.#head(), body })
    return { account, region, id: account }
  }

  #head(): RequestHead {
    const { method = 'GET', url = '/', rawHeaders } = this.#request
    return { method, url, rawHeaders }
  }

  #succeed(action: Action, context: RequestContext, output: Members): void {
    if (action.takeBack !== undefined && Object.keys(output).length > 0) {
      const takeBack = (): void => {
        action.takeBack?.(context, output).catch((error) => this.#log(error, failureOf(error)))
      }
      if (this.#response.destroyed) {
        takeBack()
        return
      }
      this.#response.once('close', () => {
        if (!this.#response.writableFinished) takeBack()
      })
    }
    this.#send(this.#protocol.answer(action, output, this.#requestId))
  }

  #fail(error: unknown): void {
    // A long poll that was aborted returns an empty response.
    if (isRefused(error, 'aborted') && this.#action !== undefined) {
      this.#send(this.#protocol.answer(this.#action, {}, this.#requestId))
      return
    }
    const failure = failureOf(error)
    this.#log(error, failure)
    this.#send(this.#protocol.fail(failure, this.#requestId))
  }

  #send({ status, contentType, body, queryError }: Reply): void {
    const response = this.#response
    if (response.destroyed || response.headersSent) return
    if (queryError !== undefined) response.setHeader('x-amzn-query-error', queryError)
    const bytes = Buffer.byteLength(body)
    response.writeHead(status, {
      'x-amzn-RequestId': this.#requestId,
      'content-type': contentType,
      'content-length': bytes,
    })
    // As many bytes as characters means ASCII, and latin1 is faster to encode.
    response.end(body, bytes === body.length ? 'latin1' : 'utf8')
  }

  #log(error: unknown, failure: Failure): void {
    const facts = { requestId: this.#requestId, action: this.#action?.name ?? null }
    logFailure(this.#setup.log, { ...facts, error, failure })
  }
}

/** A form is always the Query protocol: some clients also send the target header of JSON. */
function protocolOf({ headers }: IncomingMessage): Protocol {
  const { 'content-type': contentType = '', 'x-amz-target': target } = headers
  const isJson = target !== undefined || contentType.startsWith('application/x-amz-json')
  if (isJson && !isForm(contentType)) return jsonProtocol
  return headers.accept?.includes('application/json') ? queryProtocolInJson : queryProtocol
}

function refuseEncoding({ headers }: IncomingMessage): void {
  const encoding = headers['content-encoding'] ?? 'identity'
  if (encoding === 'identity' || encoding === '') return
  throw new SqsError(
    'SerializationException',
    'Content-Encoding is not supported. Send the request without it.',
  )
}

function tooLarge(): SqsError {
  return new SqsError(
    'RequestEntityTooLargeException',
    `The request is larger than the maximum of ${bodyBytesMax} bytes.`,
  )
}
