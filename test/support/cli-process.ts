/** Runs a command as a separate process and reads its output. */
import { type ChildProcess, spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { childVariables } from './child-variables.ts'

export interface Ended {
  readonly code: number | null
  readonly signal: NodeJS.Signals | null
  readonly stdout: string
  readonly stderr: string
}

export interface CliProcess {
  readonly pid: number
  readonly ended: Promise<Ended>
  /** Resolves to the first match in stdout. */
  output(pattern: RegExp): Promise<RegExpExecArray>
  /** The same on stderr. */
  notice(pattern: RegExp): Promise<RegExpExecArray>
  kill(signal: NodeJS.Signals): void
}

type Environment = Readonly<Record<string, string>>

const main = fileURLToPath(new URL('../../src/cli.ts', import.meta.url))

/** Starts the `millrace` command. */
export function startCli(args: readonly string[], env: Environment = {}): CliProcess {
  return startCommand(process.execPath, [main, ...args], env)
}

/** Runs the `millrace` command to its end. */
export function runCli(args: readonly string[], env: Environment = {}): Promise<Ended> {
  return startCli(args, env).ended
}

export function startCommand(
  command: string,
  args: readonly string[],
  env: Environment = {},
): CliProcess {
  const child = spawn(command, args, {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...childVariables, ...env },
  })
  let stdout = ''
  let stderr = ''
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    stdout += text
  })
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    stderr += text
  })
  const ended = endOf(child).then(({ code, signal }) => ({ code, signal, stdout, stderr }))
  const seen = (read: () => string, pattern: RegExp): Promise<RegExpExecArray> =>
    new Promise((resolve, reject) => {
      const look = (): void => {
        const match = pattern.exec(read())
        if (match !== null) resolve(match)
      }
      child.stdout.on('data', look)
      child.stderr.on('data', look)
      look()
      void ended.then(() => reject(new Error(`ended without ${pattern}: ${stdout}${stderr}`)))
    })
  return {
    // It is missing only if the program could not be started; then `ended` has the reason.
    pid: child.pid ?? -1,
    ended,
    output: (pattern) => seen(() => stdout, pattern),
    notice: (pattern) => seen(() => stderr, pattern),
    kill: (signal) => {
      child.kill(signal)
    },
  }
}

function endOf(child: ChildProcess): Promise<Pick<Ended, 'code' | 'signal'>> {
  return new Promise((resolve, reject) => {
    child.once('error', reject)
    child.once('close', (code, signal) => resolve({ code, signal }))
  })
}
