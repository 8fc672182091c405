/**
 * `/_localstack/health`, which test suites and scripts for LocalStack use to check that SQS is ready. It
 * needs no credentials, like the other health checks.
 */
import type { IncomingMessage, RequestListener } from 'node:http'
import { version } from '../../version.ts'
import type { Services } from '../services.ts'
import { targetOf } from './request-target.ts'

export function isEmulatorHealth({ method, url = '/' }: IncomingMessage): boolean {
  const isRead = method === 'GET' || method === 'HEAD'
  return isRead && targetOf(url).path === '/_localstack/health'
}

export function emulatorHealth({ ready }: Pick<Services, 'ready'>): RequestListener {
  return async (_request, response) => {
    const isReady = await ready().then(
      () => true,
      () => false,
    )
    const services = { sqs: isReady ? 'running' : 'error' }
    const body = JSON.stringify({ services, edition: 'millrace', version })
    response.writeHead(isReady ? 200 : 503, {
      'content-type': 'application/json',
      'content-length': Buffer.byteLength(body),
    })
    response.end(body)
  }
}
