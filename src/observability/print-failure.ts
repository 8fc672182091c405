/** The text that a worker without a log prints about a failed attempt; undefined if there is none to print. */
import { formatDuration } from '../core/durations.ts'
import { failureText } from '../core/failure.ts'
import type { Transition } from './transition-log.ts'

export function failureReport(transition: Transition): string | undefined {
  const happened = describe(transition)
  if (happened === undefined) return undefined
  const { queue, type, id, error, failure } = transition
  const what = type === null ? `message ${id} of ${queue}` : `job ${type} ${id} of ${queue}`
  const details = failure === null ? undefined : failureText(failure)
  // A timeout is not part of the error that the handler threw because of it.
  const summary = error !== null && failure?.message !== error && !details?.includes(error)
  const lines = [...(summary ? [error] : []), ...(details === undefined ? [] : [details])]
  return `${[`${what}: ${happened}`, ...indented(lines)].join('\n')}\n`
}

function describe(transition: Transition): string | undefined {
  const { failure, retryInMs } = transition
  switch (transition.event) {
    case 'retried':
      // Without an error, the handler chose to be called again.
      return failure === null
        ? undefined
        : `${attemptOf(transition)} failed, retry in ${rounded(retryInMs ?? 0)}`
    case 'failed':
      return `${attemptOf(transition)} failed, and there will be no retry`
    case 'lost':
      return `${attemptOf(transition)} was lost, another worker may run it again`
    case 'refused':
      return 'refused without a call to its handler'
    default:
      return undefined
  }
}

function attemptOf({ attempt, maxAttempts }: Transition): string {
  return `attempt ${attempt}${maxAttempts === null ? '' : ` of ${maxAttempts}`}`
}

function indented(lines: readonly string[]): readonly string[] {
  return lines.flatMap((line) => line.split('\n')).map((line) => `  ${line}`)
}

function rounded(ms: number): string {
  return formatDuration(ms < 1_000 ? Math.round(ms) : Math.round(ms / 1_000) * 1_000)
}
