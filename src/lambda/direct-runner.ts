/** Runs records without a store: decodes, checks, calls the handler. The event source settles the message. */
import { contractOf, jobContractOf } from '../contracts/contract-of.ts'
import { isOutcome } from '../contracts/handler-outcome.ts'
import { isJobsQueue, jobTypeOf } from '../contracts/jobs-declaration.ts'
import type { MessageSchema } from '../contracts/queue-declaration.ts'
import { MillraceError } from '../core/millrace-error.ts'
import { readMessage } from '../receiving/read-message.ts'
import { receivedJobAttributes } from '../sqs/job-attributes.ts'
import { AbortReason } from '../worker/abort-reason.ts'
import type { FunctionContext, HandlersByType, UntypedFunctionHandler } from './function-types.ts'
import {
  attemptOf,
  type FunctionQueue,
  jobTypeIn,
  type RecordRunner,
  type RunningBatch,
  textAttribute,
} from './record-runner.ts'
import type { LambdaContext, SqsBatchRecord } from './sqs-batch.ts'

export function directRunner(queue: FunctionQueue, handlers: HandlersByType): RecordRunner {
  return { begin: async (_, lambda) => new DirectBatch(queue, handlers, lambda) }
}

interface Route {
  readonly handler: UntypedFunctionHandler
  readonly contract: MessageSchema | undefined
}

class DirectBatch implements RunningBatch {
  readonly #queue: FunctionQueue
  readonly #handlers: HandlersByType
  readonly #lambda: LambdaContext
  readonly #stopping = new AbortController()
  readonly #abandoned = Promise.withResolvers<never>()

  constructor(queue: FunctionQueue, handlers: HandlersByType, lambda: LambdaContext) {
    this.#queue = queue
    this.#handlers = handlers
    this.#lambda = lambda
    this.#abandoned.promise.catch(() => undefined)
  }

  stop(): void {
    this.#stopping.abort(new AbortReason('timeout'))
  }

  abandon(): void {
    this.#abandoned.reject(new AbortReason('timeout'))
  }

  async skip(): Promise<void> {}

  async run(record: SqsBatchRecord): Promise<boolean> {
    const { report } = this.#queue
    const route = this.#route(record)
    if (route instanceof MillraceError) {
      report(record, { why: 'unreadable', error: route })
      return false
    }
    const read = await readMessage(route.contract, record.body)
    if (read.status !== 'read') {
      report(record, { why: 'unreadable', error: read.error })
      return false
    }
    try {
      const handling = Promise.resolve(route.handler(read.message, this.#contextOf(record)))
      refuseOutcome(await Promise.race([handling, this.#abandoned.promise]))
      return true
    } catch (error) {
      const why = error instanceof AbortReason ? 'timeout' : 'threw'
      report(record, { why, error }, read.message)
      return false
    }
  }

  #route(record: SqsBatchRecord): Route | MillraceError {
    const { declared, key } = this.#queue
    if (!isJobsQueue(declared)) return this.#routeOf('', contractOf(declared))
    const name = jobTypeIn(record)
    const type = name === undefined ? undefined : jobTypeOf(declared, name)
    if (name !== undefined && type !== undefined) {
      return this.#routeOf(name, jobContractOf(declared, type))
    }
    const given = name === undefined ? 'nothing' : `'${name.slice(0, 40)}'`
    const allowed = `a job type of the queue '${key}'`
    return MillraceError.invalid([{ field: receivedJobAttributes.type, given, allowed }])
  }

  #routeOf(name: string, contract: MessageSchema | undefined): Route | MillraceError {
    const handler = this.#handlers.get(name)
    return handler === undefined ? new MillraceError('invalid_argument') : { handler, contract }
  }

  #contextOf(record: SqsBatchRecord): FunctionContext {
    const { key, declared, settings } = this.#queue
    const id = textAttribute(record, receivedJobAttributes.id)
    const maxAttempts = textAttribute(record, receivedJobAttributes.maxAttempts)
    return {
      id: id ?? record.messageId,
      queue: key,
      type: isJobsQueue(declared) ? (jobTypeIn(record) ?? null) : null,
      attempt: attemptOf(record),
      maxAttempts:
        maxAttempts === undefined
          ? (settings.deadLetter?.maxReceives ?? null)
          : Number(maxAttempts),
      tenant: record.attributes.MessageGroupId ?? null,
      signal: this.#stopping.signal,
      record,
      lambda: this.#lambda,
    }
  }
}

/** Only a store can retry later, release or dead-letter a message. Here it fails, and the queue decides. */
function refuseOutcome(returned: unknown): void {
  if (!isOutcome(returned)) return
  throw new MillraceError('unsupported', {
    message:
      'The handler returned retryIn(), release() or deadLetter(), which need a store. Throw an error, ' +
      'or pass a store to lambdaHandler.',
  })
}
