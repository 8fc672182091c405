/**
 * Parses one line of a student's work, in plain text or LaTeX: whole and decimal numbers, letters, `+ - * /` in all
 * their spellings, `\frac`, brackets, and multiplication without a sign.
 */
import { binary, type Expression, number, type Operator, type Step } from './expression.ts'
import { fromDecimal } from './rational.ts'

const lengthMax = 300
const depthMax = 40

/** Undefined for anything else, such as words or powers. */
export function parseStep(text: string): Step | undefined {
  if (text.length > lengthMax) return undefined
  const tokens = tokensOf(text)
  if (tokens === undefined) return undefined
  const reader = new Reader(tokens)
  const first = reader.sum()
  if (first === undefined) return undefined
  const sides: [Expression, ...Expression[]] = [first]
  while (reader.take('=')) {
    const side = reader.sum()
    if (side === undefined) return undefined
    sides.push(side)
  }
  return reader.atEnd ? sides : undefined
}

const spellings: readonly (readonly [RegExp, string])[] = [
  [/\\(?:left|right|displaystyle|,|;|!|quad)|[$~]/g, ' '],
  [/\\(?:cdot|times|ast)(?![a-z])|[·×∗•]/g, '*'],
  [/\\div(?![a-z])|[÷∕]/g, '/'],
  [/[−–—]/g, '-'],
  [/\\[dt]?frac(?![a-z])/g, '\\frac'],
  [/[{[]/g, '('],
  [/[}\]]/g, ')'],
]

const token = /\s*(\\frac|\d+(?:\.\d+)?|\.\d+|[a-z](?![a-z])|[-+*/=()])/iy

function tokensOf(text: string): readonly string[] | undefined {
  const plain = spellings.reduce((line, [from, to]) => line.replaceAll(from, to), text).trim()
  const tokens: string[] = []
  token.lastIndex = 0
  while (token.lastIndex < plain.length) {
    const match = token.exec(plain)
    if (match?.[1] === undefined) return undefined
    tokens.push(match[1])
  }
  return tokens
}

/** A recursive descent parser. Each method returns undefined if its part is missing. */
class Reader {
  readonly #tokens: readonly string[]
  #at = 0
  #depth = 0

  constructor(tokens: readonly string[]) {
    this.#tokens = tokens
  }

  get atEnd(): boolean {
    return this.#at === this.#tokens.length
  }

  take(...wanted: readonly string[]): string | undefined {
    const next = this.#tokens[this.#at]
    if (next === undefined || !wanted.includes(next)) return undefined
    this.#at += 1
    return next
  }

  sum(): Expression | undefined {
    return this.#chain(['+', '-'], () => this.#product())
  }

  #product(): Expression | undefined {
    return this.#chain(['*', '/'], () => this.#juxtaposed())
  }

  #chain(
    operators: readonly Operator[],
    part: () => Expression | undefined,
  ): Expression | undefined {
    let left = part()
    for (;;) {
      if (left === undefined) return undefined
      const taken = this.take(...operators)
      const operator = operators.find((one) => one === taken)
      if (operator === undefined) return left
      const right = part()
      left = right && binary(operator, left, right)
    }
  }

  /** `3x` and `2(x+1)`. A number cannot follow another number. */
  #juxtaposed(): Expression | undefined {
    let left = this.#signed()
    while (left !== undefined && /^(?:[a-z(]|\\frac)$/i.test(this.#tokens[this.#at] ?? '')) {
      const right = this.#atom()
      left = right && binary('*', left, right)
    }
    return left
  }

  #signed(): Expression | undefined {
    if (!this.take('-')) return this.#atom()
    const of = this.#deeper(() => this.#signed())
    return of && { kind: 'negative', of }
  }

  #atom(): Expression | undefined {
    if (this.take('\\frac')) {
      const top = this.#bracketed()
      const bottom = top && this.#bracketed()
      return top && bottom && binary('/', top, bottom)
    }
    if (this.#tokens[this.#at] === '(') return this.#bracketed()
    const next = this.#tokens[this.#at] ?? ''
    if (/^[\d.]/.test(next)) {
      this.#at += 1
      return number(fromDecimal(next))
    }
    if (!/^[a-z]$/i.test(next)) return undefined
    this.#at += 1
    return { kind: 'variable', name: next }
  }

  #bracketed(): Expression | undefined {
    if (!this.take('(')) return undefined
    const inner = this.#deeper(() => this.sum())
    return this.take(')') ? inner : undefined
  }

  #deeper(read: () => Expression | undefined): Expression | undefined {
    if (this.#depth === depthMax) return undefined
    this.#depth += 1
    const expression = read()
    this.#depth -= 1
    return expression
  }
}
