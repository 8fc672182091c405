/**
 * A shell that runs one server in a temporary folder. When the input of the shell ends, it stops the server and
 * removes the folder. This also happens when the process that started it is killed, so a crash leaves nothing
 * behind.
 */
import { type ChildProcessByStdio, spawn } from 'node:child_process'
import { once } from 'node:events'
import { chownSync, mkdtempSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface, type Interface } from 'node:readline'
import type { Readable, Writable } from 'node:stream'
import { type ServerUser, serverUser } from './server-programs.ts'

export interface ServerShellOptions {
  /** For messages and for the name of the folder. */
  readonly name: string
  /** The folder is created in this one. */
  readonly parentFolder: string
  /** Ends the server without waiting for its clients. */
  readonly stopSignal: string
}

export interface ServerStart {
  readonly command: readonly string[]
  /** A line of the log once the server accepts connections. */
  readonly ready: RegExp
  /** A line of the log if it never will. */
  readonly failed: RegExp
}

/** Also for a slow machine: each step takes less than a second. */
const stepMsMax = 120_000
const logLinesMax = 200

export class ServerShell {
  readonly folder: string
  readonly #name: string
  readonly #user: ServerUser
  readonly #shell: ChildProcessByStdio<Writable, null, Readable>
  readonly #ended: Promise<unknown>
  /** The lines of the server and of the shell, in the order in which they were written. */
  readonly #log: Interface
  readonly #lastLines: string[] = []

  constructor({ name, parentFolder, stopSignal }: ServerShellOptions) {
    this.#name = name
    this.#user = serverUser()
    this.folder = mkdtempSync(join(parentFolder, `millrace-${name.toLowerCase()}-`))
    this.#own(this.folder)
    // Detached: Ctrl-C must reach only the tests. The shell then sees the end of its input.
    this.#shell = spawn('sh', ['-s'], {
      ...this.#user,
      cwd: '/',
      detached: true,
      stdio: ['pipe', 'ignore', 'pipe'],
    })
    this.#ended = once(this.#shell, 'close')
    // A shell that has ended closes its output too, and that is reported.
    this.#shell.stdin.on('error', () => {})
    this.#log = createInterface({ input: this.#shell.stderr })
    this.#log.on('line', (line) => {
      this.#lastLines.push(line)
      if (this.#lastLines.length > logLinesMax) this.#lastLines.shift()
    })
    // A line to a process that has gone must not end the shell before it has cleaned up.
    this.#write("trap '' PIPE")
    this.#write('stop() { [ -z "$pid" ] || { kill -"$1" "$pid"; wait "$pid"; pid=; }; }')
    this.#write(`trap ${quoted(`stop ${stopSignal}; rm -rf ${quoted(this.folder)}`)} EXIT`)
  }

  /** Writes a file that the server can read, and returns its path. */
  writeFile({ name, text }: { readonly name: string; readonly text: string }): string {
    const file = join(this.folder, name)
    // Only the server may read the key of a certificate.
    writeFileSync(file, text, { mode: 0o600 })
    this.#own(file)
    return file
  }

  /** Runs a program to its end. */
  async run(command: readonly string[]): Promise<void> {
    await this.#runLine(`${command.map(quoted).join(' ')} </dev/null`)
  }

  /** Starts the server, and resolves when it accepts connections. */
  async start({ command, ready, failed }: ServerStart): Promise<void> {
    const isReady = this.#firstLine((line) => {
      if (failed.test(line)) throw this.#error('the server did not start')
      return ready.test(line)
    })
    this.#write(`${command.map(quoted).join(' ')} </dev/null >&2 & pid=$!`)
    await isReady
  }

  /** Stops the server, if it runs, and resolves when it has ended. The folder stays. */
  async stop(signal: string): Promise<void> {
    await this.#runLine(`stop ${signal}`)
  }

  /** Stops the server and removes the folder. */
  async close(): Promise<void> {
    this.#shell.stdin.end()
    await this.#ended
  }

  #own(path: string): void {
    const { uid, gid } = this.#user
    if (uid !== undefined && gid !== undefined) chownSync(path, uid, gid)
  }

  #write(line: string): void {
    this.#shell.stdin.write(`${line}\n`)
  }

  async #runLine(line: string): Promise<void> {
    const hasEnded = this.#firstLine((found) => {
      const [, code = '0'] = /^exit code: (\d+)$/.exec(found) ?? []
      if (code !== '0') throw this.#error(`this failed with code ${code}: ${line}`)
      return found === 'exit code: 0'
    })
    this.#write(line)
    this.#write('echo "exit code: $?" >&2')
    await hasEnded
  }

  /** Resolves at the next line that is accepted, and rejects if the check throws. */
  #firstLine(accepts: (line: string) => boolean): Promise<void> {
    return new Promise((resolve, reject) => {
      const settle = (run: () => void): void => {
        clearTimeout(timer)
        this.#log.off('line', check).off('close', onClose)
        run()
      }
      const check = (line: string): void => {
        try {
          if (accepts(line)) settle(resolve)
        } catch (error) {
          settle(() => reject(error))
        }
      }
      const onClose = (): void => settle(() => reject(this.#error('the shell has ended')))
      const onTimeout = (): void => settle(() => reject(this.#error('it takes too long')))
      const timer = setTimeout(onTimeout, stepMsMax)
      this.#log.on('line', check).once('close', onClose)
    })
  }

  #error(problem: string): Error {
    return new Error(`${this.#name}: ${problem}:\n${this.#lastLines.join('\n')}`)
  }
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`
}
