/** Starts a TypeScript file as a child process and exchanges messages with it. */
import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'

/** `kind` decides which other fields a message has. */
export interface ChildMessage {
  readonly kind: string
}

export interface ChildEnd {
  readonly code: number | null
  readonly signal: NodeJS.Signals | null
  readonly errorText: string
}

export class ChildProgram {
  readonly #child: ChildProcess
  readonly #arrived: ChildMessage[] = []
  readonly #onMessage = new Set<() => void>()
  #follower: ((message: ChildMessage) => void) | undefined
  #errorText = ''

  constructor(file: URL, argument: object) {
    this.#child = fork(file, [JSON.stringify(argument)], {
      execPath: process.execPath,
      execArgv: ['--disable-warning=ExperimentalWarning'],
      stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
    })
    this.#child.stderr?.on('data', (chunk: Buffer) => {
      this.#errorText += chunk.toString()
    })
    this.#child.on('message', (message: ChildMessage) => {
      if (this.#follower !== undefined) return this.#follower(message)
      this.#arrived.push(message)
      this.#wake()
    })
    this.#child.on('exit', () => this.#wake())
  }

  send(message: ChildMessage): void {
    this.#child.send(message)
  }

  /** The next message of this kind; rejects if the process ends without sending one. */
  async next<T extends ChildMessage>(kind: T['kind']): Promise<T> {
    for (;;) {
      const index = this.#arrived.findIndex((message) => message.kind === kind)
      if (index >= 0) return this.#arrived.splice(index, 1)[0] as T
      if (this.#hasEnded) throw new Error(`The process ended early. ${this.#errorText}`)
      await new Promise<void>((resolve) => this.#onMessage.add(resolve))
    }
  }

  /** From now on this function gets every message, and `next` gets none. */
  follow<T extends ChildMessage>(run: (message: T) => void): void {
    this.#follower = run as (message: ChildMessage) => void
  }

  /** Kills the process, like a crash, and waits until it has ended. */
  async kill(): Promise<void> {
    if (this.#hasEnded) throw new Error(`The process ended before the crash. ${this.#errorText}`)
    this.#child.kill('SIGKILL')
    await this.gone()
  }

  /** Asks the process to end. */
  terminate(): void {
    this.#child.kill('SIGTERM')
  }

  /** Waits until the process has ended for any reason and all its output has arrived. */
  async gone(): Promise<ChildEnd> {
    if (!this.#hasEnded) await once(this.#child, 'exit')
    if (this.#child.connected) await once(this.#child, 'disconnect')
    const { exitCode: code, signalCode: signal } = this.#child
    return { code, signal, errorText: this.#errorText }
  }

  /** Suspends the process; it can then only be killed or resumed. */
  pause(): void {
    this.#child.kill('SIGSTOP')
  }

  resume(): void {
    this.#child.kill('SIGCONT')
  }

  /** Waits for the process to end by itself. */
  async ended(): Promise<void> {
    if (!this.#hasEnded) await once(this.#child, 'exit')
    if (this.#child.exitCode !== 0) throw new Error(`The process failed. ${this.#errorText}`)
  }

  get #hasEnded(): boolean {
    return this.#child.exitCode !== null || this.#child.signalCode !== null
  }

  #wake(): void {
    for (const resolve of this.#onMessage) resolve()
    this.#onMessage.clear()
  }
}

/** The argument of this process. The process exits when its parent ends. */
export function childArgument<T>(): T {
  process.once('disconnect', () => process.exit())
  return JSON.parse(process.argv[2] ?? '{}')
}

export function tellParent<T extends ChildMessage>(message: T): void {
  process.send?.(message)
}

/** The next message of this kind from the parent. */
export async function fromParent(kind: string): Promise<void> {
  for (;;) {
    const [message] = await once(process, 'message')
    if (message.kind === kind) return
  }
}
