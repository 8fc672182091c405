/** Collects the body of a request, up to a limit. */
import type { IncomingMessage } from 'node:http'

/**
 * The largest batch is 1 MiB of text; percent signs make three bytes of one, and escapes in JSON up to
 * six.
 */
export const bodyBytesMax: number = 8 * 2 ** 20

const nothing = Buffer.alloc(0)

/**
 * Calls once: with the body, or with undefined when it is too large; the listener sees to the rest of
 * it. When the client goes away before the end, nobody is left to be told and nothing is called.
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
    // A request may wait long for its answer, and keeps what its listeners know.
    chunks.length = 0
    done(body)
  }
  request.on('data', take).once('end', finish)
  // The listener hears of it too; here it only must not be thrown.
  request.on('error', () => undefined)
}
