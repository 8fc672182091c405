/** A Python script that answers lines of JSON with lines of JSON, in whatever order it gets done. */
import { spawn } from 'node:child_process'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'

export interface LineProcess {
  /** What the script answers; the caller knows its form. */
  ask(request: object): Promise<unknown>
  close(): Promise<void>
}

interface Waiting {
  resolve(answer: unknown): void
  reject(error: Error): void
}

export interface LineProcessOptions {
  /** A file beside this one. */
  readonly script: string
  readonly args: readonly string[]
  readonly env: Readonly<Record<string, string>>
}

export function lineProcess({ script, args, env }: LineProcessOptions): LineProcess {
  const file = fileURLToPath(new URL(script, import.meta.url))
  const python = spawn('/usr/bin/python3', [file, ...args], { env })
  const waiting = new Map<number, Waiting>()
  const ended = Promise.withResolvers<void>()
  let hasEnded = false
  let complaints = ''
  let count = 0
  python.stderr.setEncoding('utf8').on('data', (text: string) => {
    complaints += text
  })
  createInterface(python.stdout).on('line', (line) => {
    const { id, answer } = JSON.parse(line)
    waiting.get(id)?.resolve(answer)
    waiting.delete(id)
  })
  const rejectAll = (): void => {
    for (const { reject } of waiting.values()) reject(new Error(`Python ended: ${complaints}`))
    waiting.clear()
  }
  // A request to a script that ends is rejected with what the script wrote.
  python.stdin.on('error', () => undefined)
  python.once('close', () => {
    hasEnded = true
    rejectAll()
    ended.resolve()
  })
  return {
    ask(request) {
      const id = count++
      const { promise, resolve, reject } = Promise.withResolvers<unknown>()
      waiting.set(id, { resolve, reject })
      if (hasEnded) rejectAll()
      else python.stdin.write(`${JSON.stringify({ id, ...request })}\n`)
      return promise
    },
    close() {
      python.stdin.end()
      return ended.promise
    },
  }
}
