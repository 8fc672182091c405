/** The messages between the runtime and the thread of an execution environment. */
import type { LambdaError } from './lambda-error.ts'

/** What a thread is started with. */
export interface ThreadData {
  readonly folder: string
  readonly handler: string
  /** Whether the function's runtime supports callbacks and waits for the event loop to be empty. */
  readonly hasCallbacks: boolean
  /** The parts of the context that are the same for all invocations. */
  readonly context: ContextFacts
}

export interface ContextFacts {
  readonly functionName: string
  readonly functionVersion: string
  readonly invokedFunctionArn: string
  readonly memoryLimitInMB: string
  readonly logGroupName: string
  readonly logStreamName: string
}

export interface InvokeMessage {
  readonly requestId: string
  readonly event: unknown
  readonly remainingMs: number
  /** `_X_AMZN_TRACE_ID`. */
  readonly trace: string
}

export type OutputLevel = 'debug' | 'info' | 'warn' | 'error'

export type ThreadMessage =
  /** The module is loaded and its handler was found. */
  | { readonly kind: 'ready' }
  /** Files of the function, without packages, that were loaded since the last message of this kind. */
  | { readonly kind: 'files'; readonly files: readonly string[] }
  | { readonly kind: 'output'; readonly level: OutputLevel; readonly text: string }
  | { readonly kind: 'responded'; readonly response: string; readonly memoryBytes: number }
  /** The invocation has failed, or, before `ready`, the start. A fatal failure ends the thread. */
  | {
      readonly kind: 'failed'
      readonly error: LambdaError
      readonly isFatal: boolean
      readonly memoryBytes: number
    }
