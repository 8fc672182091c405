/**
 * Reads a JSON body that may be hostile. Stops as soon as it is too large or too slow, and rejects deep
 * nesting before the parser recurses into it.
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
      // If the client disconnects, the response does not matter.
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
    // Has no effect after the last chunk.
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

/** Counts brackets outside of strings. The parser checks everything else. */
function isTooDeep(text: string): boolean {
  let depth = 0
  let inString = false
  // Not a regular expression: on a string of a megabyte it would need as much memory to backtrack.
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
