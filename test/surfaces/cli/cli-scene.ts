/** Runs commands in the process of the test, on a folder of its own, with streams that it can read. */
import assert from 'node:assert/strict'
import { mkdir, writeFile } from 'node:fs/promises'
import { dirname } from 'node:path'
import { Readable } from 'node:stream'
import { onTestFinished } from 'vitest'
import { type OpenedBackend, openBackend } from '../../../src/app/open-backend.ts'
import type { Backend } from '../../../src/backends/backend.ts'
import { type Ports, systemPorts } from '../../../src/core/ports.ts'
import { platform } from '../../../src/platform.ts'
import { runProgram } from '../../../src/surfaces/cli/program.ts'
import type { Shell } from '../../../src/surfaces/cli/shell.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'

export interface CliEnd {
  readonly code: number
  readonly stdout: string
  readonly stderr: string
}

/** A document of any form, looked at by assertions. */
// biome-ignore lint/suspicious/noExplicitAny: the fields are what the tests are about
type Document = any

export interface CliOptions {
  readonly stdin?: string
  readonly environment?: Readonly<Record<string, string>>
  readonly ports?: Ports
  readonly outIsTerminal?: boolean
  readonly errIsTerminal?: boolean
}

export interface CliRun {
  readonly ended: Promise<CliEnd>
  /** What was written so far. */
  readonly stdout: string
  readonly stderr: string
  /** Answers as soon as stdout has a match. */
  output(pattern: RegExp): Promise<void>
  /** The same on stderr. */
  notice(pattern: RegExp): Promise<void>
  /** Ctrl-C. */
  interrupt(): void
}

export interface CliScene {
  readonly data: string
  file(name: string): string
  /** Writes a file into the folder in which commands are called. */
  write(name: string, text: string): Promise<string>
  start(args: readonly string[], options?: CliOptions): CliRun
  run(...args: readonly string[]): Promise<CliEnd>
  /** Runs it with `--json`, and reads the document on stdout. */
  read(...args: readonly string[]): Promise<Document>
  /** Runs it to a good end; the answer is stdout. */
  good(...args: readonly string[]): Promise<string>
  /** The store, opened beside the commands. */
  store(): Promise<OpenedBackend>
}

export async function cliScene(): Promise<CliScene> {
  const folder = await temporaryFolder('cli')
  onTestFinished(() => folder.remove())
  const data = folder.file('data')
  const start = (args: readonly string[], options: CliOptions = {}): CliRun =>
    startRun(['--color', 'never', ...args, ...dataFlag(args, data)], folder.path, options)
  const run = (...args: readonly string[]): Promise<CliEnd> => start(args).ended
  const good = async (...args: readonly string[]): Promise<string> => {
    const { code, stdout, stderr } = await run(...args)
    assert.equal(code, 0, stderr)
    return stdout
  }
  return {
    data,
    file: folder.file,
    async write(name, text) {
      const path = folder.file(name)
      await mkdir(dirname(path), { recursive: true })
      await writeFile(path, text)
      return path
    },
    start,
    run,
    good,
    read: async (...args) => JSON.parse(await good(...args, '--json')),
    async store() {
      const store = await openBackend({ store: data, create: true })
      onTestFinished(() => store[Symbol.asyncDispose]())
      return store
    },
  }
}

export interface StoreScene extends CliScene {
  readonly backend: Backend
}

/** A scene whose store has a queue `orders` and a FIFO queue `steps.fifo`. */
export async function ordersScene(): Promise<StoreScene> {
  const scene = await cliScene()
  const { backend } = await scene.store()
  await backend.createQueue({ queue: 'orders' })
  await backend.createQueue({ queue: 'steps.fifo' })
  return { ...scene, backend }
}

/** Commands that know no store must not get one. */
const withoutData = ['template', 'completion', 'health', '__complete']

function dataFlag(args: readonly string[], data: string): readonly string[] {
  const isKnown = !withoutData.some((name) => args.includes(name)) && !args.includes('--help')
  const isGiven = args.includes('--data') || args.includes('--store')
  return isKnown && !isGiven ? ['--data', data] : []
}

function startRun(args: readonly string[], folder: string, options: CliOptions): CliRun {
  const { stdin = '', environment = {}, ports = systemPorts } = options
  const { outIsTerminal = false, errIsTerminal = false } = options
  const written = { out: '', err: '' }
  const lookers = new Set<() => void>()
  const interrupted = new Set<() => void>()
  const write = (name: 'out' | 'err', text: string): void => {
    written[name] += text
    for (const look of lookers) look()
  }
  const on = (run: () => void): (() => void) => {
    interrupted.add(run)
    return () => interrupted.delete(run)
  }
  const shell: Shell = {
    environment: { HOME: folder, ...environment },
    folder,
    ports,
    platform,
    stdin: Readable.from([Buffer.from(stdin)]),
    isInteractive: false,
    out: { isTerminal: outIsTerminal, columns: 100, write: (text) => write('out', text) },
    err: { isTerminal: errIsTerminal, columns: 100, write: (text) => write('err', text) },
    onInterrupt: on,
    onStop: on,
  }
  const ended = runProgram(shell, args).then((code) => ({
    code,
    stdout: written.out,
    stderr: written.err,
  }))
  const seen = (name: 'out' | 'err', pattern: RegExp): Promise<void> =>
    new Promise((resolve, reject) => {
      const look = (): void => {
        if (!pattern.test(written[name])) return
        lookers.delete(look)
        resolve()
      }
      lookers.add(look)
      look()
      void ended.then(({ stdout, stderr }) =>
        reject(new Error(`ended without ${pattern}: ${stdout}${stderr}`)),
      )
    })
  return {
    ended,
    get stdout() {
      return written.out
    },
    get stderr() {
      return written.err
    },
    output: (pattern) => seen('out', pattern),
    notice: (pattern) => seen('err', pattern),
    interrupt: () => {
      for (const run of [...interrupted]) run()
    },
  }
}

/** A refusal is one line for people, and stdout stays empty. */
export function assertRefused(end: CliEnd, code: number, line: RegExp): void {
  assert.equal(end.code, code, end.stderr)
  assert.match(end.stderr, line)
  assert.equal(end.stdout, '')
}
