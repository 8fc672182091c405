/** Starts the processes of the system as a deployment would, and stops them in good order. */
import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { openSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { promisify } from 'node:util'

export interface StartedProcess {
  readonly name: string
  /** What it said when it was ready. */
  readonly ready: string
  readonly pid: number | undefined
  /** Asks it to finish its work and end; answers its exit code. */
  stop(): Promise<number | null>
  /** Ends it at once, as a crash would. */
  crash(): Promise<void>
  /** Stops it where it stands, as a suspended machine does; answers when it has stopped. */
  freeze(): Promise<void>
  thaw(): void
}

export interface ProcessSetup {
  /** Of the example's folder. */
  readonly file: 'api.ts' | 'worker.ts'
  readonly name: string
  readonly environment: Readonly<Record<string, string>>
  /** Where its log goes, as `{name}.log`. */
  readonly logs: string
}

export async function startProcess(setup: ProcessSetup): Promise<StartedProcess> {
  const { file, name, environment, logs } = setup
  const log = openSync(join(logs, `${name}.log`), 'a')
  const child = spawn(process.execPath, [join(import.meta.dirname, '..', file)], {
    env: environment,
    stdio: ['ignore', 'pipe', log],
  })
  const ended = once(child, 'exit')
  const killWithParent = (): boolean => child.kill()
  process.once('exit', killWithParent)
  child.once('exit', () => process.off('exit', killWithParent))
  const ready = await firstLine(child)
  const end = async (signal: NodeJS.Signals): Promise<number | null> => {
    child.kill(signal)
    await ended
    return child.exitCode
  }
  return {
    name,
    ready,
    pid: child.pid,
    stop: () => end('SIGTERM'),
    async crash() {
      await end('SIGKILL')
    },
    async freeze() {
      child.kill('SIGSTOP')
      while (!(await stateOf(child)).startsWith('T'));
    },
    thaw() {
      child.kill('SIGCONT')
    },
  }
}

/** One letter, as the system's own list of processes has it: T is a stopped one. */
async function stateOf({ pid }: ChildProcess): Promise<string> {
  const { stdout } = await promisify(execFile)('ps', ['-o', 'state=', '-p', String(pid)])
  return stdout.trim()
}

async function firstLine(child: ChildProcess): Promise<string> {
  if (child.stdout === null) throw new Error('The process has no output to read.')
  for await (const line of createInterface({ input: child.stdout })) return line
  throw new Error('The process ended before it was ready; its log says why.')
}
