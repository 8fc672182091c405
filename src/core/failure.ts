/**
 * What is kept of the error that ended an attempt: its stack and its causes, cleaned like a summary and
 * bounded, so that it can be stored with the attempt, logged and shown.
 */
import { cleanText, cutText, oneLine } from './clean-text.ts'
import { messageOf, nameOf, readField } from './error-summary.ts'
import { isError } from './is-error.ts'
import { limits } from './limits.ts'
import { stackLines } from './stack-lines.ts'

/** One error of a chain of causes. */
export interface ErrorDetails {
  readonly name: string
  readonly message: string
  /**
   * The frames of its stack, one per line, without those inside Node and of the worker. Of other languages,
   * the lines of the stack. Empty if there are none.
   */
  readonly stack: string
  /** The `code` of the error, such as `ECONNREFUSED`, if it has one. */
  readonly code?: string
}

export interface Failure extends ErrorDetails {
  /** The `cause` of the error and the causes of that; also the `errors` of an AggregateError. */
  readonly causes: readonly ErrorDetails[]
}

const causesMax = 5
const nameLengthMax = 128
/** Of all texts together. Quotation marks and line breaks take two characters of JSON. */
const textMax = 8_192

/** @param hide values that a contract marks as secret or personal */
export function failureOf(error: unknown, hide: readonly string[] = []): Failure {
  const [first, ...causes] = fitted(chainOf(error).map((one) => detailsOf(one, hide)))
  // The chain starts with the error itself.
  return { ...(first ?? detailsOf(error, hide)), causes }
}

/** The whole failure as text, in the form in which Node prints an error. */
export function failureText({ causes, ...failure }: Failure): string {
  const texts = causes.map((cause) => `caused by ${detailsText(cause)}`)
  return [detailsText(failure), ...texts].join('\n')
}

function detailsText({ name, message, stack, code }: ErrorDetails): string {
  const coded = code === undefined || message.includes(code) ? name : `${name} [${code}]`
  const frames = stack === '' ? [] : stack.split('\n').map((frame) => `    ${frame}`)
  return [`${coded}: ${message.replaceAll('\n', '\n  ')}`, ...frames].join('\n')
}

/** The error and its causes, each one once. */
function chainOf(error: unknown): readonly unknown[] {
  const chain = [error]
  for (let at = 0; at < chain.length && chain.length <= causesMax; at += 1) {
    const next = causesOf(chain[at]).filter((cause) => !chain.includes(cause))
    chain.push(...next.slice(0, causesMax + 1 - chain.length))
  }
  return chain
}

function causesOf(error: unknown): readonly unknown[] {
  if (!isError(error)) return []
  const cause = readField(error, 'cause')
  const errors = readField(error, 'errors')
  return [...(cause === undefined ? [] : [cause]), ...(Array.isArray(errors) ? errors : [])]
}

function detailsOf(error: unknown, hide: readonly string[]): ErrorDetails {
  const name = cutText(oneLine(cleanText(nameOf(error), hide)), nameLengthMax) || 'Error'
  const message = cutText(lines(cleanText(messageOf(error), hide)), limits.errorLength.max)
  const code = codeOf(error, hide)
  const details = { name, message, stack: stackOf(error, hide) }
  return code === undefined ? details : { ...details, code }
}

function codeOf(error: unknown, hide: readonly string[]): string | undefined {
  const code = isError(error) ? readField(error, 'code') : undefined
  if (typeof code !== 'string' && typeof code !== 'number') return undefined
  return cutText(oneLine(cleanText(String(code), hide)), nameLengthMax) || undefined
}

function stackOf(error: unknown, hide: readonly string[]): string {
  const stack = isError(error) ? readField(error, 'stack') : undefined
  if (typeof stack !== 'string') return ''
  return stackLines({ stack, message: messageOf(error), hide }).join('\n')
}

/** Keeps line breaks, and removes other control characters. */
function lines(text: string): string {
  return text
    .replace(/\r\n?/g, '\n')
    .replace(/[^\P{Cc}\n]+/gu, ' ')
    .trim()
}

/** Shortens the stacks until all texts together fit. */
function fitted(chain: readonly ErrorDetails[]): readonly ErrorDetails[] {
  const others = chain.map(
    ({ name, message, code = '' }) => name.length + message.length + code.length,
  )
  let room = textMax - others.reduce((sum, length) => sum + length, 0)
  return chain.map((details) => {
    const stack = wholeFrames(details.stack, Math.max(0, room))
    room -= stack.length
    return { ...details, stack }
  })
}

function wholeFrames(stack: string, lengthMax: number): string {
  if (stack.length <= lengthMax) return stack
  return stack.slice(0, Math.max(0, stack.lastIndexOf('\n', lengthMax)))
}
