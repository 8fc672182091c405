/**
 * Guards an endpoint without access keys. Programs on this machine may use it, but web pages in a browser on
 * this machine may not.
 */
import { isLocalRequest } from '../../local-request.ts'
import { SqsError } from '../sqs-error.ts'
import { headerValue, type RequestHead } from './canonical-request.ts'

/**
 * Names of this machine in the settings of AWS clients: those of LocalStack, with a service and a region in
 * front, and the name of the host inside containers.
 */
const localNames =
  /^(?:(?:[a-z0-9-]+\.)*localhost\.localstack\.cloud|host\.(?:docker|containers)\.internal)$/

/** The last accepted host. Nearly all requests have the same one, and the check costs time. */
let knownHost: string | undefined

export function refuseForeign({ rawHeaders }: Pick<RequestHead, 'rawHeaders'>): void {
  // Repeated headers are joined, and the joined value is never allowed.
  const host = headerValue(rawHeaders, 'host')
  const origin = headerValue(rawHeaders, 'origin')
  const fetchSite = headerValue(rawHeaders, 'sec-fetch-site')
  const isFromProgram = origin === undefined && fetchSite === undefined
  if (isFromProgram && host !== undefined && host === knownHost) return
  if (isLocalRequest({ host, origin, fetchSite }, (name) => localNames.test(name))) {
    knownHost = host
    return
  }
  throw new SqsError(
    'AccessDeniedException',
    'Without access keys, this server accepts requests only from programs on its own machine, ' +
      'and not from web pages. Use the host name localhost, or start it with MILLRACE_ACCESS_KEYS.',
  )
}
