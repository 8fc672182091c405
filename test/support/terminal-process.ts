/** Runs the `millrace` command on a real terminal, which Debian's `script` creates. */
import { spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { stripVTControlCharacters } from 'node:util'
import { childVariables } from './child-variables.ts'

export interface TerminalProcess {
  readonly ended: Promise<{ readonly code: number | null; readonly screen: string }>
  /** Resolves when the screen has shown the text; colours are ignored. */
  shows(pattern: RegExp): Promise<void>
  /** The output so far, including control sequences. */
  readonly raw: string
  /** Presses keys. */
  type(keys: string): void
  end(): void
}

const main = fileURLToPath(new URL('../../src/cli.ts', import.meta.url))

export function startOnTerminal(
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
): TerminalProcess {
  const quoted = [process.execPath, main, ...args].map((arg) => `'${arg}'`).join(' ')
  // A new terminal has no size, so set one.
  const command = `stty cols 200 rows 50; exec ${quoted}`
  const child = spawn(
    'script',
    ['--quiet', '--return', '--flush', '--command', command, '/dev/null'],
    {
      stdio: ['pipe', 'pipe', 'inherit'],
      env: { ...childVariables, TERM: 'xterm', SHELL: '/bin/sh', ...env },
    },
  )
  let raw = ''
  const lookers = new Set<() => void>()
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    raw += text
    for (const look of lookers) look()
  })
  const ended = new Promise<{ code: number | null; screen: string }>((resolve, reject) => {
    child.once('error', reject)
    child.once('close', (code) => resolve({ code, screen: stripVTControlCharacters(raw) }))
  })
  return {
    ended,
    get raw() {
      return raw
    },
    shows: (pattern) =>
      new Promise((resolve, reject) => {
        const look = (): void => {
          if (pattern.test(stripVTControlCharacters(raw))) resolve()
        }
        lookers.add(look)
        look()
        void ended.then(({ screen }) => reject(new Error(`ended without ${pattern}: ${screen}`)))
      }),
    type: (keys) => void child.stdin.write(keys),
    end: () => void child.kill('SIGKILL'),
  }
}
