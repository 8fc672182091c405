/** A website for the worker: a page, one that is out of order at the first request, and none else. */
import { LocalServer } from '../shared/local-server.ts'

export function servePages(): LocalServer {
  let requests = 0
  return new LocalServer((request) => {
    switch (new URL(request.url).pathname) {
      case '/mill':
        return new Response('The water of the millrace turns the wheel.')
      case '/flaky':
        requests += 1
        if (requests === 1) return new Response('Out of order.', { status: 503 })
        return new Response('Back again.')
      default:
        return new Response('Nothing here.', { status: 404 })
    }
  })
}
