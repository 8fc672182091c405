/** Runs one program of an example as a child process, and reads what it prints. */
import { type ChildProcessByStdio, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import type { Readable } from 'node:stream'

export interface ProgramSetup {
  /** A file and its arguments, run by this Node. */
  readonly command: readonly string[]
  readonly variables: Readonly<Record<string, string | undefined>>
  /** Called with every line of stdout and stderr. */
  readonly onLine?: (line: string) => void
}

export class Program {
  readonly #child: ChildProcessByStdio<null, Readable, Readable>
  readonly #lines: string[] = []
  readonly #ended: Promise<number | null>
  #onLine: (line: string) => void

  constructor({ command, variables, onLine = () => undefined }: ProgramSetup) {
    const { PATH = '', NODE_COMPILE_CACHE } = process.env
    // Nothing else of this environment is passed on, so that every run has the same settings.
    this.#child = spawn(process.execPath, [...command], {
      env: { PATH, ...(NODE_COMPILE_CACHE && { NODE_COMPILE_CACHE }), ...variables },
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    this.#onLine = onLine
    for (const input of [this.#child.stdout, this.#child.stderr]) {
      createInterface({ input }).on('line', (line) => {
        this.#lines.push(line)
        this.#onLine(line)
      })
    }
    this.#ended = once(this.#child, 'close').then(([code]) => code)
    // The child must not outlive this process.
    const killChild = (): boolean => this.#child.kill()
    process.once('exit', killChild)
    void this.#ended.finally(() => process.off('exit', killChild))
  }

  get pid(): number | undefined {
    return this.#child.pid
  }

  get output(): string {
    return this.#lines.join('\n')
  }

  /** Resolves to the first line that matches, among earlier lines too. */
  waitForLine(pattern: RegExp): Promise<RegExpExecArray> {
    const onLine = this.#onLine
    return new Promise((resolve, reject) => {
      const check = (line: string): void => {
        const match = pattern.exec(line)
        if (match !== null) resolve(match)
      }
      this.#onLine = (line) => {
        onLine(line)
        check(line)
      }
      this.#lines.forEach(check)
      const isMissing = (): Error =>
        new Error(`The program ended without a line ${pattern}:\n${this.output}`)
      void this.#ended.then(() => reject(isMissing()))
    })
  }

  /** Resolves to the exit code when the program has ended. */
  get ended(): Promise<number | null> {
    return this.#ended
  }

  /** Throws if the program is not running, so a signal never reaches another process. */
  signal(signal: NodeJS.Signals): void {
    if (!this.#child.kill(signal)) throw new Error(`${signal}: the program is not running.`)
  }

  stop(signal: NodeJS.Signals = 'SIGTERM'): Promise<number | null> {
    this.#child.kill(signal)
    return this.#ended
  }
}
