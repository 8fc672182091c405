/** Single keys while `millrace dev` runs on a terminal. */
import { ReadStream } from 'node:tty'
import type { RunningDev } from '../../server.ts'
import type { Shell } from './shell.ts'

export interface Keys {
  readonly help: string
  /** Resolves when the user presses `q`. */
  readonly quit: Promise<void>
  /** Stops listening and restores the terminal. */
  end(): void
}

const clearScreen = '\u001B[2J\u001B[3J\u001B[H'
/** Ctrl-C. In raw mode, a terminal sends this character instead of a signal. */
const interrupt = '\u0003'

/** Returns undefined when stdin is not a terminal. */
export function listenKeys(
  { stdin, isInteractive, err }: Shell,
  running: Pick<RunningDev, 'reload'>,
): Keys | undefined {
  if (!isInteractive || !(stdin instanceof ReadStream)) return undefined
  const { promise: quit, resolve } = Promise.withResolvers<void>()
  const onKeys = (keys: Buffer): void => {
    for (const key of keys.toString()) {
      if (key === 'q') resolve()
      // A signal, so that a second Ctrl-C ends the process at once, as without this listener.
      else if (key === interrupt) process.kill(process.pid, 'SIGINT')
      else if (key === 'c') err.write(clearScreen)
      else if (key === 'r') void running.reload()
    }
  }
  stdin.setRawMode(true).on('data', onKeys).resume()
  return {
    help: 'Keys: c clear, r reload, q quit',
    quit,
    end: () => void stdin.off('data', onKeys).setRawMode(false).pause(),
  }
}
