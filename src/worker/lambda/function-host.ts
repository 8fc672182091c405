/**
 * A function and its execution environments. Each invocation gets an environment to itself, a warm one if
 * there is any. Environments are disposed of after a long idle time, after a timeout or crash, and when the
 * code or declaration of the function changes.
 */
import type { Ports } from '../../core/ports.ts'
import { CodeWatcher } from './code-watcher.ts'
import { type Ending, ExecutionEnvironment, type Start } from './execution-environment.ts'
import { type FunctionPlace, functionEnvironment } from './function-environment.ts'
import { type InvocationFigures, InvocationLog, type LambdaLogLine } from './invocation-log.ts'
import { type LambdaError, runtimeError } from './lambda-error.ts'
import { hasCallbacks, type LambdaFunction } from './lambda-set.ts'
import type { ContextFacts } from './thread-protocol.ts'

export interface FunctionHostSetup {
  readonly ports: Ports
  readonly place: FunctionPlace
  readonly idleMs: number
  readonly onLogLine: (line: LambdaLogLine) => void
  /** Called before changed code is used. */
  readonly onReload: (name: string) => void
}

export interface Invocation extends InvocationFigures {
  readonly requestId: string
  /** JSON if the function has succeeded. */
  readonly response: string | null
  readonly error: LambdaError | null
}

interface Idle {
  readonly environment: ExecutionEnvironment
  readonly cancelEviction: () => void
}

export class FunctionHost {
  readonly #setup: FunctionHostSetup
  readonly #log: InvocationLog
  readonly #closing = new Set<Promise<void>>()
  #definition: LambdaFunction
  #idle: Idle[] = []
  #watcher: CodeWatcher
  /** Environments of an older generation have old code, and are not used again. */
  #generation = 0

  constructor(definition: LambdaFunction, setup: FunctionHostSetup) {
    this.#definition = definition
    this.#setup = setup
    this.#log = new InvocationLog(definition.name, setup.onLogLine)
    this.#watcher = this.#watch()
  }

  get definition(): LambdaFunction {
    return this.#definition
  }

  /** Uses another declaration from the next invocation on. Running invocations keep the old one. */
  redefine(definition: LambdaFunction): void {
    this.#definition = definition
    this.#renew()
  }

  /** Disposes of idle environments. The caller waits for running invocations. */
  async close(): Promise<void> {
    this.#watcher.close()
    this.#dropIdle()
    this.#generation += 1
    await Promise.all(this.#closing)
  }

  async invoke(event: unknown): Promise<Invocation> {
    const { ports } = this.#setup
    const { timeoutMs, memoryMb } = this.#definition
    const generation = this.#generation
    const requestId = ports.ids.next()
    const { environment, start } = await this.#environment()
    this.#log.start(requestId)
    const startedMs = ports.clock.monotonic()
    const ending: Ending =
      start?.status === 'failed'
        ? start
        : await environment.invoke({
            requestId,
            event,
            remainingMs: timeoutMs,
            trace: this.#newTrace(),
          })
    const invocation: Invocation = {
      requestId,
      status: ending.status,
      durationMs: ports.clock.monotonic() - startedMs,
      initMs: start?.initMs ?? null,
      memoryMb,
      memoryUsedMb: environment.memoryUsedMb,
      response: ending.status === 'succeeded' ? ending.response : null,
      error: errorOf(ending, timeoutMs),
    }
    this.#writeEnd(invocation, ending, timeoutMs)
    this.#putBack(environment, generation)
    return invocation
  }

  /** The warm environment that was used last, or a new one with the result of its start. */
  async #environment(): Promise<{
    readonly environment: ExecutionEnvironment
    readonly start: Start | null
  }> {
    const idle = this.#idle.pop()
    idle?.cancelEviction()
    if (idle !== undefined) return { environment: idle.environment, start: null }
    const environment = this.#open()
    return { environment, start: await environment.started }
  }

  #open(): ExecutionEnvironment {
    const { ports, place } = this.#setup
    const definition = this.#definition
    const watcher = this.#watcher
    const context = this.#contextFacts()
    const opened = new ExecutionEnvironment({
      ports,
      thread: {
        folder: definition.folder,
        handler: definition.handler,
        hasCallbacks: hasCallbacks(definition.runtime),
        context,
      },
      variables: functionEnvironment(definition, place, context),
      timeoutMs: definition.timeoutMs,
      memoryMb: definition.memoryMb,
      onOutput: (requestId, level, text) => this.#log.output(requestId, level, text),
      onFiles: (files) => watcher.add(files),
      onEnded: (error) => {
        const isOther = ({ environment }: Idle): boolean => environment !== opened
        for (const idle of this.#idle) if (!isOther(idle)) idle.cancelEviction()
        this.#idle = this.#idle.filter(isOther)
        if (error !== null) this.#log.error(null, 'Uncaught Exception', error)
      },
    })
    return opened
  }

  #putBack(environment: ExecutionEnvironment, generation: number): void {
    if (environment.isDead || generation !== this.#generation) {
      this.#dispose(environment)
      return
    }
    const cancelEviction = this.#setup.ports.timers.after(
      this.#setup.idleMs,
      () => {
        this.#idle = this.#idle.filter((idle) => idle.environment !== environment)
        this.#dispose(environment)
      },
      { background: true },
    )
    this.#idle.push({ environment, cancelEviction })
  }

  #renew(): void {
    this.#generation += 1
    this.#dropIdle()
    this.#watcher.close()
    this.#watcher = this.#watch()
  }

  #watch(): CodeWatcher {
    return new CodeWatcher({
      timers: this.#setup.ports.timers,
      onChange: () => {
        this.#setup.onReload(this.#definition.name)
        this.#renew()
      },
    })
  }

  #dropIdle(): void {
    for (const { environment, cancelEviction } of this.#idle.splice(0)) {
      cancelEviction()
      this.#dispose(environment)
    }
  }

  #dispose(environment: ExecutionEnvironment): void {
    const closing = environment.dispose().finally(() => this.#closing.delete(closing))
    this.#closing.add(closing)
  }

  #writeEnd(invocation: Invocation, { status }: Ending, timeoutMs: number): void {
    const { requestId, error } = invocation
    if (status === 'timed_out') this.#log.timedOut(requestId, timeoutMs)
    else if (error !== null) this.#log.error(requestId, 'Invoke Error', error)
    this.#log.end(requestId, invocation)
  }

  #contextFacts(): ContextFacts {
    const { ports, place } = this.#setup
    const { name, memoryMb } = this.#definition
    const [day = ''] = new Date(ports.clock.now()).toISOString().split('T')
    return {
      functionName: name,
      functionVersion: '$LATEST',
      invokedFunctionArn: `arn:aws:lambda:${place.region}:${place.account}:function:${name}`,
      memoryLimitInMB: String(memoryMb),
      logGroupName: `/aws/lambda/${name}`,
      logStreamName: `${day.replaceAll('-', '/')}/[$LATEST]${this.#hex(32)}`,
    }
  }

  /** In the format of X-Ray. Every invocation by a queue starts a new trace. */
  #newTrace(): string {
    const seconds = Math.floor(this.#setup.ports.clock.now() / 1_000).toString(16)
    return `Root=1-${seconds}-${this.#hex(24)};Parent=${this.#hex(16)};Sampled=0`
  }

  #hex(digits: number): string {
    return this.#setup.ports.ids.next().replaceAll('-', '').slice(-digits)
  }
}

function errorOf(ending: Ending, timeoutMs: number): LambdaError | null {
  if (ending.status === 'failed') return ending.error
  if (ending.status === 'succeeded') return null
  return runtimeError('Sandbox.Timedout', `Task timed out after ${timeoutMs / 1_000} seconds`)
}
