/**
 * The HTTP API. Today it answers the questions of a supervisor: is the process alive, and can it
 * use its store.
 */
import type { RequestListener } from 'node:http'
import type { Services } from '../../config/serve.ts'
import { version } from '../../config/version.ts'
import { MillraceError } from '../../core/millrace-error.ts'
import { type Answer, type Handler, router } from './router.ts'

export function httpApi(services: Services): RequestListener {
  return router(
    new Map<string, Handler>([
      ['/healthz', alive],
      ['/readyz', () => readiness(services)],
    ]),
  )
}

function alive(): Answer {
  return { status: 200, body: { status: 'ok', version } }
}

async function readiness({ ready, stopping }: Services): Promise<Answer> {
  if (stopping.aborted) return notReady('stopping', 'The server is stopping.')
  try {
    await ready()
    return { status: 200, body: { status: 'ok' } }
  } catch (error) {
    // Only our own texts are known to carry nothing private.
    return error instanceof MillraceError
      ? notReady(error.code, error.message)
      : notReady('internal', 'The store could not be checked.')
  }
}

function notReady(code: string, message: string): Answer {
  return { status: 503, body: { status: 'unavailable', error: { code, message } } }
}
