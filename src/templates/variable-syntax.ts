/**
 * Parses the variables of serverless.yml: `${self:custom.x, 'other'}`, nested, with a fallback after each
 * comma. A `${…}` without a source (`${AWS::Region}`, `${Queue}`) belongs to CloudFormation and is plain text
 * here.
 */
export type Segment = string | Variable

export interface Variable {
  readonly sources: readonly Source[]
  /** As written, for problem messages. */
  readonly text: string
}

export type Source = LiteralSource | NamedSource | Variable

export interface LiteralSource {
  readonly literal: string | number | boolean | null
}

export interface NamedSource {
  readonly type: string
  /** The part in parentheses: the path of a file. */
  readonly argument: readonly Segment[] | undefined
  readonly address: readonly Segment[] | undefined
}

/** A syntax error. Its message is for the user. */
export class VariableSyntaxError extends Error {}

const opening = /\$\{\s*[a-z][A-Za-z0-9]*(?:\(|:(?!:))/y
const sourceStart = /\s*([a-z][A-Za-z0-9]*)(?=[(:])/y
const nestedMax = 20

export function hasVariables(text: string): boolean {
  return text.includes('${')
}

/** Splits a string into text and variables. Throws a `VariableSyntaxError`. */
export function parseVariables(text: string): readonly Segment[] {
  return new VariableParser(text).segments('', 0)
}

class VariableParser {
  readonly #text: string
  #at = 0

  constructor(text: string) {
    this.#text = text
  }

  /** Reads up to one of the characters, which is not consumed, or to the end. */
  segments(stops: string, depth: number): readonly Segment[] {
    const segments: Segment[] = []
    let from = this.#at
    const flush = (): void => {
      if (this.#at > from) segments.push(this.#text.slice(from, this.#at))
    }
    while (this.#at < this.#text.length && !stops.includes(this.#char)) {
      if (this.#char === '\\' && this.#text[this.#at + 1] === '$') this.#at += 2
      else if (this.#matches(opening) !== undefined) {
        flush()
        segments.push(this.#variable(depth + 1))
        from = this.#at
      } else this.#at += 1
    }
    this.#at = Math.min(this.#at, this.#text.length)
    flush()
    return segments
  }

  get #char(): string {
    return this.#text[this.#at] ?? ''
  }

  #variable(depth: number): Variable {
    if (depth > nestedMax) throw new VariableSyntaxError('variables are nested too deeply')
    const start = this.#at
    this.#at += 2
    const sources = [this.#source(depth)]
    while (this.#skip(',')) sources.push(this.#source(depth))
    if (!this.#skip('}')) throw new VariableSyntaxError("the closing '}' of a variable is missing")
    return { sources, text: this.#text.slice(start, this.#at) }
  }

  #source(depth: number): Source {
    this.#skipSpaces()
    if (this.#char === "'" || this.#char === '"') return { literal: this.#quoted() }
    if (this.#matches(opening) !== undefined) return this.#variable(depth + 1)
    const type = this.#matches(sourceStart)?.[1]
    if (type === undefined) return { literal: this.#bare() }
    this.#skipSpaces()
    this.#at += type.length
    let argument: readonly Segment[] | undefined
    if (this.#skip('(')) {
      argument = this.#part(')', depth)
      if (!this.#skip(')')) throw new VariableSyntaxError("the closing ')' of a source is missing")
    }
    const address = this.#skip(':') ? this.#part(',}', depth) : undefined
    return { type, argument, address }
  }

  /** A quoted string, or everything up to one of the characters. */
  #part(stops: string, depth: number): readonly Segment[] {
    this.#skipSpaces()
    if (this.#char === "'" || this.#char === '"') return [this.#quoted()]
    return trimmed(this.segments(stops, depth))
  }

  #quoted(): string {
    const quote = this.#char
    const end = this.#text.indexOf(quote, this.#at + 1)
    if (end < 0) throw new VariableSyntaxError(`the closing ${quote} of a string is missing`)
    const text = this.#text.slice(this.#at + 1, end)
    this.#at = end + 1
    return text
  }

  /** Without quotes, only numbers, booleans and null are values. */
  #bare(): LiteralSource['literal'] {
    const start = this.#at
    while (this.#at < this.#text.length && !',}'.includes(this.#char)) this.#at += 1
    const word = this.#text.slice(start, this.#at).trim()
    if (word === 'true' || word === 'false') return word === 'true'
    if (word === 'null') return null
    if (word !== '' && Number.isFinite(Number(word))) return Number(word)
    throw new VariableSyntaxError('a string as fallback needs quotes')
  }

  #skip(char: string): boolean {
    this.#skipSpaces()
    if (this.#char !== char) return false
    this.#at += 1
    return true
  }

  #skipSpaces(): void {
    while (/\s/.test(this.#char)) this.#at += 1
  }

  #matches(pattern: RegExp): RegExpExecArray | undefined {
    pattern.lastIndex = this.#at
    return pattern.exec(this.#text) ?? undefined
  }
}

function trimmed(segments: readonly Segment[]): readonly Segment[] {
  return segments.map((segment, index) => {
    if (typeof segment !== 'string') return segment
    const start = index === 0 ? segment.trimStart() : segment
    return index === segments.length - 1 ? start.trimEnd() : start
  })
}
