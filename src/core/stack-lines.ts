/**
 * The lines of a stack that are kept with a failure. Of JavaScript these are the frames of the program. The
 * stacks of other languages, which other programs report, are kept as they are.
 */
import { cleanText, cutText, oneLine, replaceValues } from './clean-text.ts'
import { counted } from './counted.ts'

const framesMax = 30
const lineLengthMax = 256

/** Of the first and of the last part of a long stack. */
const endMax = { lines: 30, length: 3_072, read: 4_096 } as const

const frame = /^ {4}at /m

/** The stack of an error of JavaScript that has no frames. */
const onlyName = /^\w*Error(?:: .*)?\s*$/

/** Lines that no stack of JavaScript has. The message of such an error may quote frames of JavaScript. */
const foreign = /^(?:Traceback \(most recent call last\):|goroutine \d+ |\tat )/m

/**
 * From here on, the frames show how the worker called the handler, or a middleware around it. These are
 * functions of `src/worker`.
 */
const calledByWorker =
  /^\s+at (?:async )?(?:(?:Job|Batch)Runner\.|(?:#\w+|callHandler|callLayer|calledWith) \(.*[\\/]worker[\\/](?:(?:job|batch)-runner|middleware)\.[jt]s:)/

export interface StackSource {
  readonly stack: string
  readonly message: string
  readonly hide: readonly string[]
}

export function stackLines({ stack, message, hide }: StackSource): readonly string[] {
  const calls = withoutMessage(stack, message)
  if (onlyName.test(calls)) return []
  const isForeign = foreign.test(calls) || !frame.test(calls)
  return isForeign ? foreignLines(calls, hide) : frames(calls, hide)
}

/** Many stacks begin with the message, which may have lines that look like frames. */
function withoutMessage(stack: string, message: string): string {
  const at = stack.indexOf(message)
  const name = stack.slice(0, Math.max(0, at))
  const rest = stack.slice(at + message.length)
  const isFirst = at === 0 || (at > 0 && name.endsWith(': ') && !name.includes('\n'))
  return isFirst && /^(?:\r?\n|$)/.test(rest) ? rest : stack
}

/** Without those inside Node, and without those of the worker. */
function frames(stack: string, hide: readonly string[]): readonly string[] {
  const all = cleanText(stack, hide)
    .split('\n')
    .filter((line) => frame.test(line) && !/[( ]node:/.test(line))
  const own = all.findIndex((line) => calledByWorker.test(line))
  return all
    .slice(0, own < 0 ? framesMax : Math.min(own, framesMax))
    .map((line) => cutText(oneLine(line), lineLengthMax))
}

/** Where a language prints the error last, the end of its stack says more than the beginning. */
function foreignLines(stack: string, hide: readonly string[]): readonly string[] {
  const text = replaceValues(stack, hide)
  const [first, middle, last] = parts(text)
  const lines = [...cleanLines(first), ...cleanLines(last)]
  const head = fitting(lines)
  const tail = fitting(lines.slice(head.length).toReversed()).toReversed()
  const leftOut = lines.length - head.length - tail.length + filledLines(middle).length
  return leftOut === 0 ? lines : [...head, `… ${counted(leftOut, 'line')} left out …`, ...tail]
}

/** Two parts of whole lines to read, and what is between them. */
function parts(text: string): readonly [first: string, middle: string, last: string] {
  const { read } = endMax
  if (text.length <= 2 * read) return [text, '', '']
  const lineEnd = text.lastIndexOf('\n', read)
  const end = lineEnd < 0 ? read : lineEnd
  const lineStart = text.indexOf('\n', text.length - read)
  const start = lineStart < 0 ? text.length : lineStart
  return [text.slice(0, end), lineEnd < 0 ? '' : text.slice(end, start), text.slice(start)]
}

function filledLines(text: string): readonly string[] {
  return text.split('\n').filter((line) => line.trim() !== '')
}

/** The lines with their indentation, which tells calls from source text. */
function cleanLines(text: string): readonly string[] {
  return filledLines(cleanText(text)).map((line) => {
    const indentation = /^\s*/.exec(line)?.[0].replaceAll('\t', '    ') ?? ''
    return cutText(`${indentation.replace(/[^ ]/g, ' ')}${oneLine(line)}`, lineLengthMax)
  })
}

/** As many of the first lines as may be kept. */
function fitting(lines: readonly string[]): readonly string[] {
  let room: number = endMax.length
  const cut = lines.findIndex((line, index) => {
    room -= line.length + 1
    return room < 0 || index >= endMax.lines
  })
  return cut < 0 ? lines : lines.slice(0, cut)
}
