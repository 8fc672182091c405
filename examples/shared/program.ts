/** One program of an example as a process of its own, watched through what it prints. */
import { type ChildProcessByStdio, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import type { Readable } from 'node:stream'

export interface ProgramSetup {
  /** A file and its arguments, run by this Node. */
  readonly command: readonly string[]
  readonly variables: Readonly<Record<string, string | undefined>>
  /** Told of every line, of stdout and of stderr. */
  readonly onLine?: (line: string) => void
}

export class Program {
  readonly #child: ChildProcessByStdio<null, Readable, Readable>
  readonly #lines: string[] = []
  readonly #ended: Promise<number | null>
  #onLine: (line: string) => void

  constructor({ command, variables, onLine = () => undefined }: ProgramSetup) {
    const { PATH = '' } = process.env
    // Nothing else of the caller's environment: a system is what its settings say.
    this.#child = spawn(process.execPath, [...command], {
      env: { PATH, ...variables },
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
    // Whoever is interrupted takes the others along.
    const takeAlong = (): boolean => this.#child.kill()
    process.once('exit', takeAlong)
    void this.#ended.finally(() => process.off('exit', takeAlong))
  }

  get pid(): number | undefined {
    return this.#child.pid
  }

  get output(): string {
    return this.#lines.join('\n')
  }

  /** The first line that fits, as soon as it is there. */
  said(pattern: RegExp): Promise<RegExpExecArray> {
    const tell = this.#onLine
    return new Promise((resolve, reject) => {
      const look = (line: string): void => {
        const match = pattern.exec(line)
        if (match !== null) resolve(match)
      }
      this.#onLine = (line) => {
        tell(line)
        look(line)
      }
      this.#lines.forEach(look)
      void this.#ended.then(() => reject(new Error(`It ended too early:\n${this.output}`)))
    })
  }

  /** Its exit code, when it ends by itself. */
  get ended(): Promise<number | null> {
    return this.#ended
  }

  stop(signal: NodeJS.Signals = 'SIGTERM'): Promise<number | null> {
    this.#child.kill(signal)
    return this.#ended
  }
}
