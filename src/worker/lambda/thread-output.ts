/**
 * What a function writes, caught in its thread: console calls with their level, and whatever goes to
 * stdout and stderr. It takes the same way as the answer, so a line never comes after the end of its
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
