/**
 * Guards a wire without access keys: whoever is on this machine may use it, but a web page must not,
 * and a browser on this machine opens pages of everybody.
 */
import { isLocalRequest } from '../../local-request.ts'
import { SqsError } from '../sqs-error.ts'
import { headerValue, type RequestHead } from './canonical-request.ts'

/**
 * Names that mean this machine in the settings of AWS clients: what LocalStack users have, with a
 * service and a region in front, and what containers call the machine they run on.
 */
const localNames =
  /^(?:(?:[a-z0-9-]+\.)*localhost\.localstack\.cloud|host\.(?:docker|containers)\.internal)$/

/** The host that was let in last: nearly all requests come by one name, and looking is not free. */
let knownHost: string | undefined

export function refuseForeign({ rawHeaders }: Pick<RequestHead, 'rawHeaders'>): void {
  // What comes twice is joined, and then it is nothing that would be allowed.
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
    'Without access keys this server answers programs on its own machine only, and no web pages. ' +
      'Ask it by the name localhost, or start it with MILLRACE_ACCESS_KEYS.',
  )
}
