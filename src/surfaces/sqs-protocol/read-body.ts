/** Reads the body of a request, up to a limit. */
import type { IncomingMessage } from 'node:http'

/**
 * The largest batch is 1 MiB of text. Percent encoding triples its size, and JSON escapes need up to six
 * bytes per character.
 */
export const bodyBytesMax: number = 8 * 2 ** 20

const nothing = Buffer.alloc(0)

/**
 * Calls `done` once: with the body, or with undefined if it is too large. The listener discards the rest. If
 * the client disconnects first, `done` is not called.
 */
export function readBody(request: IncomingMessage, done: (body: Buffer | undefined) => void): void {
  const { headers } = request
  const declared = headers['content-length']
  if (declared === undefined && headers['transfer-encoding'] === undefined) {
    done(nothing)
    return
  }
  if (declared !== undefined && Number(declared) > bodyBytesMax) {
    done(undefined)
    return
  }
  const chunks: Buffer[] = []
  let length = 0
  const take = (chunk: Buffer): void => {
    length += chunk.length
    if (length <= bodyBytesMax) {
      chunks.push(chunk)
      return
    }
    request.off('data', take).off('end', finish)
    done(undefined)
  }
  const finish = (): void => {
    const [first = nothing] = chunks
    const body = chunks.length < 2 ? first : Buffer.concat(chunks, length)
    // Frees the memory: a long poll keeps its listeners, and so their variables.
    chunks.length = 0
    done(body)
  }
  request.on('data', take).once('end', finish)
  // The HTTP server handles the error. Without a listener here, it would be thrown.
  request.on('error', () => undefined)
}
