/**
 * The smallest router that serves: exact paths, JSON answers. It is the seam between the listener
 * and what answers, so that a larger API can take its place without touching either.
 */
import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http'

export interface Answer {
  readonly status: number
  readonly body: Readonly<Record<string, unknown>>
}

export type Handler = (request: IncomingMessage) => Answer | Promise<Answer>

/** Handlers by path, for GET and HEAD. */
export type Routes = ReadonlyMap<string, Handler>

export function router(routes: Routes): RequestListener {
  return (request, response) => {
    void answerTo(request, routes).then((answer) => write(response, answer))
  }
}

const notFound: Answer = {
  status: 404,
  body: { error: { code: 'not_found', message: 'There is nothing at this address.' } },
}

const failed: Answer = {
  status: 500,
  body: { error: { code: 'internal', message: 'The server failed to answer.' } },
}

async function answerTo(request: IncomingMessage, routes: Routes): Promise<Answer> {
  const { method, url = '/' } = request
  const [path = '/'] = url.split('?', 1)
  const handler = method === 'GET' || method === 'HEAD' ? routes.get(path) : undefined
  if (handler === undefined) return notFound
  try {
    return await handler(request)
  } catch {
    return failed
  }
}

function write(response: ServerResponse, { status, body }: Answer): void {
  const text = `${JSON.stringify(body)}\n`
  response.writeHead(status, {
    'content-type': 'application/json; charset=utf-8',
    'content-length': Buffer.byteLength(text),
    'cache-control': 'no-store',
    'x-content-type-options': 'nosniff',
  })
  response.end(text)
}
