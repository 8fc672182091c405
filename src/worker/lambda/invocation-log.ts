/**
 * The log of invocations, line by line as in CloudWatch: START, the output of the function, its errors, END
 * and REPORT. Only the function's own output may contain message data.
 */
import type { Logger } from '../../observability/logger.ts'
import { formatLambdaError, type LambdaError } from './lambda-error.ts'
import type { OutputLevel } from './thread-protocol.ts'

export interface LambdaLogLine {
  readonly function: string
  /** Null for output while the function is loaded. */
  readonly requestId: string | null
  /** `output` was written by the function. The other kinds are written about it. */
  readonly kind: 'start' | 'output' | 'error' | 'end' | 'report'
  readonly level: OutputLevel
  /** May contain line breaks, if the function wrote them in one call. */
  readonly text: string
}

export interface InvocationFigures {
  readonly durationMs: number
  /** Null for a warm start. */
  readonly initMs: number | null
  readonly memoryMb: number
  readonly memoryUsedMb: number
  readonly status: 'succeeded' | 'failed' | 'timed_out'
}

/** The duration that Lambda would bill: whole milliseconds, including the start. */
export function billedMs({ durationMs, initMs }: InvocationFigures): number {
  return Math.max(1, Math.ceil(durationMs + (initMs ?? 0)))
}

/** The lines of one function. */
export class InvocationLog {
  readonly #function: string
  readonly #write: (line: LambdaLogLine) => void

  constructor(name: string, write: (line: LambdaLogLine) => void) {
    this.#function = name
    this.#write = write
  }

  output(requestId: string | null, level: OutputLevel, text: string): void {
    this.#line(requestId, 'output', level, text)
  }

  start(requestId: string): void {
    this.#line(requestId, 'start', 'info', `START RequestId: ${requestId} Version: $LATEST`)
  }

  /** @param title Lambda's name for this kind of failure: `Invoke Error` */
  error(requestId: string | null, title: string, error: LambdaError): void {
    this.#line(requestId, 'error', 'error', formatLambdaError(title, error))
  }

  timedOut(requestId: string, timeoutMs: number): void {
    const seconds = (timeoutMs / 1_000).toFixed(2)
    this.#line(requestId, 'error', 'error', `Task timed out after ${seconds} seconds`)
  }

  end(requestId: string, figures: InvocationFigures): void {
    this.#line(requestId, 'end', 'info', `END RequestId: ${requestId}`)
    this.#line(requestId, 'report', 'info', reportLine(requestId, figures))
  }

  #line(
    requestId: string | null,
    kind: LambdaLogLine['kind'],
    level: OutputLevel,
    text: string,
  ): void {
    this.#write({ function: this.#function, requestId, kind, level, text })
  }
}

const statusWords = { succeeded: null, failed: 'error', timed_out: 'timeout' } as const

function reportLine(requestId: string, figures: InvocationFigures): string {
  const { durationMs, initMs, memoryMb, memoryUsedMb, status } = figures
  const word = statusWords[status]
  return [
    `REPORT RequestId: ${requestId}`,
    `Duration: ${durationMs.toFixed(2)} ms`,
    `Billed Duration: ${billedMs(figures)} ms`,
    `Memory Size: ${memoryMb} MB`,
    `Max Memory Used: ${memoryUsedMb} MB`,
    ...(initMs === null ? [] : [`Init Duration: ${initMs.toFixed(2)} ms`]),
    ...(word === null ? [] : [`Status: ${word}`]),
  ].join('\t')
}

/** The default destination of log lines: the logger, unchanged. */
export function toLogger(log: Logger): (line: LambdaLogLine) => void {
  return ({ function: name, requestId, kind, level, text }) =>
    log[level]({ function: name, kind, ...(requestId !== null && { request_id: requestId }) }, text)
}
