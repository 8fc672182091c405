/**
 * Captures the output of a function in its thread: console calls with their level, and writes to stdout and
 * stderr. It is sent over the same port as the response, so a line never arrives after the end of its
 * invocation.
 */
import { format } from 'node:util'
import type { OutputLevel } from './thread-protocol.ts'

const levels: readonly (readonly [method: keyof Console, level: OutputLevel])[] = [
  ['trace', 'debug'],
  ['debug', 'debug'],
  ['log', 'info'],
  ['info', 'info'],
  ['warn', 'warn'],
  ['error', 'error'],
]

export function catchOutput(tell: (level: OutputLevel, text: string) => void): void {
  for (const [method, level] of levels) {
    const write = (...parts: unknown[]): void => tell(level, format(...parts))
    Reflect.set(globalThis.console, method, write)
  }
  catchStream(process.stdout, (text) => tell('info', text))
  catchStream(process.stderr, (text) => tell('error', text))
}

type Written = () => void

function catchStream(stream: NodeJS.WriteStream, tell: (text: string) => void): void {
  const write = (
    chunk: string | Uint8Array,
    encoding?: BufferEncoding | Written,
    onWritten?: Written,
  ): boolean => {
    const text = typeof chunk === 'string' ? chunk : Buffer.from(chunk).toString()
    tell(text.replace(/\n$/, ''))
    const done = typeof encoding === 'function' ? encoding : onWritten
    if (done !== undefined) process.nextTick(done)
    return true
  }
  Reflect.set(stream, 'write', write)
}
