/**
 * One execution environment of a function: a thread that has loaded its handler and runs one invocation at a
 * time. It reports how each ended and never rejects. A dead environment is not used again.
 */
import { Worker } from 'node:worker_threads'
import type { Ports } from '../../core/ports.ts'
import type { Variables } from './function-environment.ts'
import { type LambdaError, lambdaErrorOf, runtimeError } from './lambda-error.ts'
import type { InvokeMessage, OutputLevel, ThreadData, ThreadMessage } from './thread-protocol.ts'

export interface EnvironmentSetup {
  readonly ports: Ports
  readonly thread: ThreadData
  readonly variables: Variables
  readonly timeoutMs: number
  readonly memoryMb: number
  /** Called with the output of the function and the invocation it belongs to. */
  readonly onOutput: (requestId: string | null, level: OutputLevel, text: string) => void
  /** Called with the files of the function that were loaded. */
  readonly onFiles: (files: readonly string[]) => void
  /** Called once when the thread has ended. The error is set if no invocation could report it. */
  readonly onEnded: (error: LambdaError | null) => void
}

export type Start =
  | { readonly status: 'ready'; readonly initMs: number }
  | { readonly status: 'failed'; readonly error: LambdaError; readonly initMs: number }

export type Ending =
  | { readonly status: 'succeeded'; readonly response: string }
  | { readonly status: 'failed'; readonly error: LambdaError }
  | { readonly status: 'timed_out' }

/** On AWS the start may take ten seconds, and in a second try as long as an invocation. */
const startMsMax = 10_000

const bytesPerMb = 1_048_576

/** Warnings of Node about the function's files, which AWS does not print either. */
const quiet: readonly string[] = [
  '--disable-warning=MODULE_TYPELESS_PACKAGE_JSON',
  '--disable-warning=ExperimentalWarning',
]

export class ExecutionEnvironment {
  readonly started: Promise<Start>
  readonly #setup: EnvironmentSetup
  readonly #thread: Worker | undefined
  readonly #start: (start: Start) => void
  #invocation: { readonly requestId: string; end: (ending: Ending) => void } | undefined
  /** Settles the start while it is under way. Does nothing afterwards. */
  #onStarted: (error: LambdaError | null) => boolean
  #usedBytes = 0
  #isDead = false

  constructor(setup: EnvironmentSetup) {
    this.#setup = setup
    const { promise, resolve } = Promise.withResolvers<Start>()
    this.started = promise
    this.#start = resolve
    this.#onStarted = this.#timeStart()
    try {
      this.#thread = this.#open()
    } catch (error) {
      // Unknown options of Node throw before the thread exists.
      this.#end(lambdaErrorOf(error, 'Runtime.StartError'))
    }
  }

  get isDead(): boolean {
    return this.#isDead
  }

  /** The most memory that was in use at the end of an invocation. */
  get memoryUsedMb(): number {
    return Math.ceil(this.#usedBytes / bytesPerMb)
  }

  /** Runs one invocation. After a timeout the environment is dead. */
  invoke(message: InvokeMessage): Promise<Ending> {
    const { ports, timeoutMs } = this.#setup
    return new Promise((resolve) => {
      const cancelTimeout = ports.timers.after(timeoutMs, () => {
        this.#invocation?.end({ status: 'timed_out' })
        this.#end(null)
      })
      this.#invocation = {
        requestId: message.requestId,
        end: (ending) => {
          cancelTimeout()
          this.#invocation = undefined
          resolve(ending)
        },
      }
      this.#thread?.postMessage(message)
    })
  }

  /** Terminates the thread. Resolves when it has ended. */
  async dispose(): Promise<void> {
    this.#end(null)
    await this.#thread?.terminate()
  }

  #open(): Worker {
    const { thread, variables, memoryMb } = this.#setup
    // Next to this file, both in the source and in the build.
    const extension = import.meta.url.endsWith('.ts') ? 'ts' : 'js'
    const opened = new Worker(new URL(`./environment-thread.${extension}`, import.meta.url), {
      workerData: thread,
      env: { ...variables },
      execArgv: [...quiet],
      name: thread.context.functionName,
      resourceLimits: { maxOldGenerationSizeMb: memoryMb },
      // The thread captures its own streams. Only earlier output arrives here.
      stdout: true,
      stderr: true,
    })
    opened.stdout.resume()
    opened.stderr.resume()
    opened.on('message', (message: ThreadMessage) => this.#hear(message))
    opened.on('error', (error) => this.#end(exitError(error)))
    opened.on('exit', (code) => this.#end(exitError(code)))
    return opened
  }

  #hear(message: ThreadMessage): void {
    switch (message.kind) {
      case 'ready':
        this.#onStarted(null)
        break
      case 'files':
        this.#setup.onFiles(message.files)
        break
      case 'output':
        this.#setup.onOutput(this.#invocation?.requestId ?? null, message.level, message.text)
        break
      case 'responded':
        this.#note(message.memoryBytes)
        this.#invocation?.end({ status: 'succeeded', response: message.response })
        break
      case 'failed':
        this.#note(message.memoryBytes)
        if (message.isFatal) this.#end(message.error)
        else this.#invocation?.end({ status: 'failed', error: message.error })
        break
    }
  }

  #note(memoryBytes: number): void {
    this.#usedBytes = Math.max(this.#usedBytes, memoryBytes)
  }

  #timeStart(): (error: LambdaError | null) => boolean {
    const { ports, timeoutMs } = this.#setup
    const startedMs = ports.clock.monotonic()
    const limitMs = startMsMax + timeoutMs
    const cancel = ports.timers.after(limitMs, () =>
      this.#end(runtimeError('Sandbox.Timedout', `The start took longer than ${limitMs} ms`)),
    )
    return (error) => {
      cancel()
      this.#onStarted = () => false
      const initMs = ports.clock.monotonic() - startedMs
      this.#start(
        error === null ? { status: 'ready', initMs } : { status: 'failed', error, initMs },
      )
      return true
    }
  }

  /** Without an error, this process has ended the thread. */
  #end(error: LambdaError | null): void {
    if (this.#isDead) return
    this.#isDead = true
    const ended = error ?? runtimeError('Runtime.ExitError', 'The environment was closed')
    const isStart = this.#onStarted(ended)
    const { onEnded } = this.#setup
    onEnded(isStart || this.#invocation !== undefined ? null : error)
    this.#invocation?.end({ status: 'failed', error: ended })
    void this.#thread?.terminate()
  }
}

function exitError(why: unknown): LambdaError {
  if (typeof why === 'number') {
    const how = why === 0 ? 'without providing a reason' : `with error: exit status ${why}`
    return runtimeError('Runtime.ExitError', `Runtime exited ${how}`)
  }
  const isMemory = why instanceof Error && 'code' in why && why.code === 'ERR_WORKER_OUT_OF_MEMORY'
  if (!isMemory) return lambdaErrorOf(why)
  return runtimeError('Runtime.OutOfMemory', 'The function used more memory than its limit')
}
