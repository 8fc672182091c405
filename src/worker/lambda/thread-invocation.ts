/**
 * One invocation of a handler in its thread: the context, how a handler can respond, and the
 * end of those that never do. Older runtimes of Lambda respond once the event loop is empty. Node 24 and
 * later only support promises.
 */
import type { MessagePort } from 'node:worker_threads'
import { isThenable } from '../../core/is-thenable.ts'
import { systemPorts } from '../../core/ports.ts'
import { type LambdaError, lambdaErrorOf, runtimeError } from './lambda-error.ts'
import type { Handler } from './thread-modules.ts'
import type { InvokeMessage, ThreadData } from './thread-protocol.ts'

export type Ending = { readonly response: string } | { readonly error: LambdaError }

export function runInvocation(
  port: MessagePort,
  data: ThreadData,
  handler: Handler,
  message: InvokeMessage,
): Promise<Ending> {
  const invocation = new Invocation(port, data)
  invocation.begin(handler, message)
  return invocation.ended
}

class Invocation {
  readonly ended: Promise<Ending>
  readonly #port: MessagePort
  readonly #data: ThreadData
  readonly #end: (ending: Ending) => void
  #waitsForEmptyLoop = true
  /** The result of a callback, kept until the event loop is empty. */
  #kept: Ending | undefined

  constructor(port: MessagePort, data: ThreadData) {
    this.#port = port
    this.#data = data
    const { promise, resolve } = Promise.withResolvers<Ending>()
    this.ended = promise
    this.#end = (ending) => {
      process.off('beforeExit', this.#loopIsEmpty)
      port.ref()
      resolve(ending)
    }
  }

  begin(handler: Handler, message: InvokeMessage): void {
    process.env['_X_AMZN_TRACE_ID'] = message.trace
    // From now on, only the handler's own work keeps the thread alive.
    this.#port.unref()
    process.on('beforeExit', this.#loopIsEmpty)
    const { hasCallbacks } = this.#data
    const context = this.#context(message)
    try {
      const returned = hasCallbacks
        ? handler(message.event, context, this.#callback)
        : handler(message.event, context)
      if (isThenable(returned)) returned.then(this.#succeed, this.#fail)
      else if (!hasCallbacks) this.#succeed(returned)
    } catch (error) {
      this.#fail(error)
    }
  }

  readonly #succeed = (result: unknown): void => this.#end(endingOf(result))

  readonly #fail = (error: unknown): void => this.#end({ error: lambdaErrorOf(error) })

  readonly #callback = (error?: unknown, result?: unknown): void => {
    if (this.#kept !== undefined) return
    const hasFailed = error !== undefined && error !== null
    this.#kept = hasFailed ? { error: lambdaErrorOf(error) } : endingOf(result)
    if (!this.#waitsForEmptyLoop) this.#end(this.#kept)
  }

  readonly #loopIsEmpty = (): void => {
    if (this.#data.hasCallbacks) this.#end(this.#kept ?? { response: 'null' })
    else
      this.#end({ error: runtimeError('Runtime.ExitError', 'Runtime exited without a response') })
  }

  #context({ requestId, remainingMs }: InvokeMessage): object {
    const { clock } = systemPorts
    const endsAtMs = clock.monotonic() + remainingMs
    const context = {
      ...this.#data.context,
      awsRequestId: requestId,
      getRemainingTimeInMillis: (): number => Math.max(0, Math.floor(endsAtMs - clock.monotonic())),
    }
    return this.#data.hasCallbacks ? this.#withLegacyMethods(context) : context
  }

  /** Adds what handlers of older runtimes may still use. */
  #withLegacyMethods(context: object): object {
    const respondAtOnce = (error: unknown, result: unknown): void => {
      this.#waitsForEmptyLoop = false
      this.#callback(error, result)
    }
    Object.defineProperty(context, 'callbackWaitsForEmptyEventLoop', {
      enumerable: true,
      get: () => this.#waitsForEmptyLoop,
      set: (waits: unknown) => {
        this.#waitsForEmptyLoop = Boolean(waits)
      },
    })
    return Object.assign(context, {
      done: (error?: unknown, result?: unknown) => respondAtOnce(error, result),
      fail: (error: unknown) => respondAtOnce(error ?? 'handled', undefined),
      succeed: (result: unknown) => respondAtOnce(undefined, result),
    })
  }
}

function endingOf(result: unknown): Ending {
  try {
    // Values without a JSON form, such as functions, become null.
    return { response: JSON.stringify(result) ?? 'null' }
  } catch (error) {
    const { errorMessage } = lambdaErrorOf(error)
    const message = `Unable to stringify response body: ${errorMessage}`
    return { error: runtimeError('Runtime.JSONStringifyError', message) }
  }
}
