/**
 * Collects problems with their positions. Reading continues after a problem, so that all are reported at
 * once. A limit keeps a broken file from filling the screen.
 */
import type { Origin } from './node.ts'
import type { TemplateProblem } from './stack.ts'

const problemsMax = 100

/** Names in a template can be very long. */
const messageLengthMax = 1_000

export class Problems {
  readonly #found = new Map<string, TemplateProblem>()
  /** Counted separately, so that many warnings cannot hide an error. */
  readonly #counts = { error: 0, warning: 0 }
  #muted = false
  #isLenient = false

  error(origin: Origin, message: string): void {
    this.#add('error', origin, message)
  }

  warning(origin: Origin, message: string): void {
    this.#add('warning', origin, message)
  }

  get hasErrors(): boolean {
    return this.#counts.error > 0
  }

  /**
   * Whether problems are reported in full. Otherwise a broken value must not be cached, because it is
   * reported when it is used again.
   */
  get areReported(): boolean {
    return !this.#muted && !this.#isLenient
  }

  /** Runs a function without reporting its problems. */
  quietly<Value>(run: () => Value): Value {
    const before = this.#muted
    this.#muted = true
    try {
      return run()
    } finally {
      this.#muted = before
    }
  }

  /** Runs a function whose errors are only warnings, because others do not depend on it. */
  leniently<Value>(run: () => Value): Value {
    const before = this.#isLenient
    this.#isLenient = true
    try {
      return run()
    } finally {
      this.#isLenient = before
    }
  }

  /** In the order of the files and of their lines. */
  list(): readonly TemplateProblem[] {
    const found = [...this.#found.values()]
    const files = [...new Set(found.map(({ at }) => at.file))]
    return found.sort(
      ({ at: one }, { at: other }) =>
        files.indexOf(one.file) - files.indexOf(other.file) ||
        one.line - other.line ||
        one.column - other.column,
    )
  }

  #add(given: TemplateProblem['severity'], { at, path }: Origin, text: string): void {
    if (this.#muted) return
    const severity = this.#isLenient ? 'warning' : given
    const message = text.length > messageLengthMax ? `${text.slice(0, messageLengthMax)}…` : text
    // A wrong value that is used twice is reported once.
    const key = `${at.file}:${at.line}:${at.column}:${message}`
    const before = this.#found.get(key)
    const isNew = before === undefined || (before.severity === 'warning' && severity === 'error')
    if (!isNew || this.#counts[severity] >= problemsMax) return
    this.#counts[severity] += 1
    this.#found.set(key, { severity, path, message, at })
  }
}
