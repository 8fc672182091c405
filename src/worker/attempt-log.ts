/**
 * The lines that a handler logs, as they are kept with its attempt: cleaned and bounded. They wait in memory
 * until a settlement or a report of progress stores them.
 */
import { cleanText, cutText, oneLine } from '../core/clean-text.ts'
import { counted } from '../core/counted.ts'
import { errorSummary } from '../core/error-summary.ts'
import { hiddenMark, hideValues } from '../core/hide-values.ts'
import { isError } from '../core/is-error.ts'
import { type LogLevel, type LogLine, logLevels } from '../core/log-line.ts'
import { isSecretName } from '../core/secret-names.ts'
import type { LogFields, Logger } from '../observability/logger.ts'

/** Of one attempt. Further lines are counted. */
export const keptLines = { linesMax: 100, lengthMax: 32_768, lineLengthMax: 1_024 } as const

/** What a field takes besides its name and its value. */
const fieldLength = 6

export class AttemptLog {
  readonly #now: () => number
  #lines: LogLine[] = []
  #count = 0
  #length = 0
  #dropped = 0
  #droppedAt = 0

  constructor(now: () => number) {
    this.#now = now
  }

  add(level: LogLevel, given: LogFields, text: string, hide: readonly string[]): void {
    const { linesMax, lengthMax, lineLengthMax } = keptLines
    const at = this.#now()
    const message = cutText(oneLine(cleanText(text, hide)), lineLengthMax)
    const fields = keptFields(given, hide, lineLengthMax - message.length)
    const length = message.length + JSON.stringify(fields).length
    if (this.#count >= linesMax || this.#length + length > lengthMax) {
      this.#dropped += 1
      this.#droppedAt = at
      return
    }
    this.#count += 1
    this.#length += length
    this.#lines.push({ at, level, message, fields })
  }

  /** The lines since the last call; undefined if there are none. */
  take(): readonly LogLine[] | undefined {
    if (this.#lines.length === 0) return undefined
    const lines = this.#lines
    this.#lines = []
    return lines
  }

  /** Adds lines again that could not be stored. */
  putBack(lines: readonly LogLine[]): void {
    this.#lines = [...lines, ...this.#lines]
  }

  /** The remaining lines at the end of the attempt, with the number of those that were dropped. */
  takeLast(): readonly LogLine[] | undefined {
    if (this.#dropped > 0) {
      const message = `${counted(this.#dropped, 'more line')} not kept`
      this.#lines.push({ at: this.#droppedAt, level: 'warn', message, fields: {} })
      this.#dropped = 0
    }
    return this.take()
  }
}

/**
 * A logger that keeps its lines and passes them on. Values that the contract hides are removed from both.
 *
 * @param hide is called once, when the first line is logged
 */
export function keepingLogger(
  log: Logger,
  kept: AttemptLog | undefined,
  hide: () => readonly string[],
): Logger {
  let hidden: readonly string[] | undefined
  const write = (level: LogLevel, given: unknown, text: unknown): void => {
    hidden ??= hide()
    // Plain JavaScript may log only a message.
    const isText = typeof given === 'string'
    const fields: LogFields = isText ? {} : Object(given)
    const message = isText ? given : text === undefined ? '' : String(text)
    kept?.add(level, fields, message, hidden)
    log[level](
      hidden.length === 0 ? fields : withoutHidden(fields, hidden),
      hideValues(message, hidden),
    )
  }
  const at = (level: LogLevel) => (given: LogFields, text: string) => write(level, given, text)
  const [debug, info, warn, error] = logLevels
  return { debug: at(debug), info: at(info), warn: at(warn), error: at(error) }
}

function withoutHidden(fields: LogFields, hide: readonly string[]): LogFields {
  const shown = Object.entries(fields).map(([name, value]) => {
    if (typeof value === 'string') return [name, hideValues(value, hide)] as const
    const isHidden = typeof value === 'number' && hide.includes(String(value))
    return [name, isHidden ? hiddenMark : value] as const
  })
  return Object.fromEntries(shown)
}

/** As many fields as fit into a line. */
function keptFields(
  fields: LogFields,
  hide: readonly string[],
  lengthMax: number,
): LogLine['fields'] {
  const kept: Record<string, string | number | boolean | null> = {}
  let room = lengthMax
  for (const [name, given] of Object.entries(fields)) {
    room -= name.length + fieldLength
    const value = isSecret(name, given) ? hiddenMark : keptValue(given, hide)
    if (room <= 0 || value === undefined) continue
    const shown = typeof value === 'string' ? cutText(value, room) : value
    kept[name] = shown
    room -= String(shown).length
  }
  return kept
}

/** Whether there is a password or something like it in the field: `hasPassword: true` says nothing. */
function isSecret(name: string, value: unknown): boolean {
  if (value === null || value === undefined || typeof value === 'boolean') return false
  return isSecretName(name)
}

/** Typed loggers take plain values; others may be given errors and objects. */
function keptValue(
  value: unknown,
  hide: readonly string[],
): string | number | boolean | null | undefined {
  if (value === null || value === undefined || typeof value === 'boolean') return value
  if (typeof value === 'number') return hide.includes(String(value)) ? hiddenMark : value
  if (isError(value)) return errorSummary(value, hide)
  return oneLine(cleanText(textOf(value), hide))
}

function textOf(value: unknown): string {
  if (typeof value === 'string') return value
  try {
    const shown = (name: string, inner: unknown): unknown =>
      isSecret(name, inner) ? hiddenMark : inner
    return JSON.stringify(value, shown) ?? typeof value
  } catch {
    return typeof value
  }
}
