/** Progress on stderr: a bar on a terminal, otherwise a line every few seconds. */
import type { Call } from './store-command.ts'

interface ProgressFlags {
  readonly json?: true
  readonly jsonl?: true
}

export interface ProgressState {
  readonly done: number
  readonly of: number
  /** The unit of both numbers. */
  readonly unit?: string
}

export interface Progress extends Disposable {
  show(state: ProgressState): void
  /** Ends the line of the bar. Can be called more than once. */
  end(): void
}

const barWidth = 30
const lineEveryMs = 5_000

export function createProgress(call: Call<ProgressFlags>, label: string): Progress {
  // With --jsonl, the events on stdout show the progress.
  if (call.flags.jsonl) return disposable({ show: () => {}, end: () => {} })
  return disposable(call.shell.err.isTerminal ? bar(call, label) : lines(call, label))
}

type Shown = Pick<Progress, 'show' | 'end'>

function disposable(shown: Shown): Progress {
  return { ...shown, [Symbol.dispose]: () => shown.end() }
}

function bar({ shell: { err }, output }: Call<object>, label: string): Shown {
  let isShown = false
  return {
    show(state) {
      const { done, of } = state
      const part = of === 0 ? 1 : Math.min(1, done / of)
      const filled = Math.round(part * barWidth)
      const drawn = output.noticePaint.green('█'.repeat(filled)) + '░'.repeat(barWidth - filled)
      err.write(`\r${label} ${drawn} ${textOf(state)}\u001B[K`)
      isShown = true
    },
    end() {
      if (isShown) err.write('\n')
      isShown = false
    },
  }
}

function lines({ shell: { ports }, output }: Call<object>, label: string): Shown {
  let lastAt = ports.clock.monotonic()
  return {
    show(state) {
      const now = ports.clock.monotonic()
      if (now - lastAt < lineEveryMs) return
      lastAt = now
      output.notice(`${label} ${textOf(state)}`)
    },
    end() {},
  }
}

function textOf({ done, of, unit }: ProgressState): string {
  return `${done} of ${of}${unit === undefined ? '' : ` ${unit}`}`
}
