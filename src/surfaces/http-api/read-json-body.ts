/**
 * Reads a JSON body that may be hostile: it is cut off as soon as it is too large or too slow, and
 * one that is nested without end is refused before anything recurses into it.
 */
import { pause } from '../../core/pause.ts'
import type { Timers } from '../../core/ports.ts'
import { ApiProblem } from './api-problem.ts'

export interface BodyLimits {
  readonly bodyBytesMax: number
  readonly bodyTimeoutMs: number
  readonly timers: Timers
}

const depthMax = 64

export async function readJsonBody(request: Request, limits: BodyLimits): Promise<unknown> {
  refuseType(request.headers)
  const declared = Number(request.headers.get('content-length') ?? 0)
  if (declared > limits.bodyBytesMax) throw new ApiProblem('too_large')
  const text = decode(await readBytes(request, limits))
  if (isTooDeep(text)) throw new ApiProblem('invalid_json')
  try {
    return JSON.parse(text)
  } catch {
    throw new ApiProblem('invalid_json')
  }
}

function refuseType(headers: Headers): void {
  const type = headers.get('content-type') ?? ''
  const isJson = /^application\/json *(?:; *charset="?utf-8"?)?$/i.test(type.trim())
  const encoding = headers.get('content-encoding') ?? 'identity'
  if (!isJson || encoding.toLowerCase() !== 'identity') {
    throw new ApiProblem('unsupported_media_type')
  }
}

async function readBytes(request: Request, limits: BodyLimits): Promise<Uint8Array> {
  const { bodyBytesMax, bodyTimeoutMs, timers } = limits
  if (request.body === null) return new Uint8Array()
  const reader = request.body.getReader()
  const arrived = new AbortController()
  const late = pause(timers, bodyTimeoutMs, arrived.signal).then(() => 'late' as const)
  const chunks: Uint8Array[] = []
  let bytes = 0
  try {
    for (;;) {
      // A client that goes away in the middle has no use for an answer of any kind.
      const chunk = await Promise.race([reader.read(), late]).catch(() => 'late' as const)
      if (chunk === 'late')
        throw new ApiProblem('body_timeout', { headers: { connection: 'close' } })
      if (chunk.done) return Buffer.concat(chunks)
      bytes += chunk.value.byteLength
      if (bytes > bodyBytesMax) throw new ApiProblem('too_large')
      chunks.push(chunk.value)
    }
  } finally {
    arrived.abort()
    // After the last chunk there is nothing left to give up.
    void reader.cancel().catch(() => undefined)
  }
}

function decode(bytes: Uint8Array): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes)
  } catch {
    throw new ApiProblem('invalid_json')
  }
}

/** Looks at the brackets outside of strings; whether the rest is JSON is for the parser to say. */
function isTooDeep(text: string): boolean {
  let depth = 0
  let inString = false
  // Not a pattern: a string of a megabyte would need a megabyte of its backtracking.
  for (let at = 0; at < text.length; at += 1) {
    const character = text[at]
    if (inString) {
      if (character === '\\') at += 1
      else if (character === '"') inString = false
    } else if (character === '"') inString = true
    else if (character === '[' || character === '{') depth += 1
    else if (character === ']' || character === '}') depth -= 1
    if (depth > depthMax) return true
  }
  return false
}
