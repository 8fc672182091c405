/**
 * Rejects GET requests from browsers that would change something. Links in mails and images on pages are GET
 * requests, and must not send messages.
 */
import { SqsError } from '../sqs-error.ts'
import { headerValue, type RequestHead } from './canonical-request.ts'

/** All other actions change something. A receive hides messages and counts. */
const reads = /^(?:Get|List)/

/**
 * Every browser identifies itself as Mozilla or Opera. The other headers come only from browsers too, but not
 * with every request. `Sec-Fetch-Mode` is not used here, because the `fetch` of Node sends it.
 */
const browserAgent = /^(?:Mozilla|Opera)\//
const browserHeaders = ['sec-fetch-site', 'sec-fetch-dest', 'referer'] as const

export function refuseBrowserWrite({ method, rawHeaders }: RequestHead, action: string): void {
  if (method !== 'GET' || reads.test(action) || !isBrowser(rawHeaders)) return
  throw new SqsError(
    'AccessDeniedException',
    `Without access keys, a browser cannot call ${action} with GET, because any link could do it. ` +
      'Use POST, or a client other than a browser.',
  )
}

function isBrowser(rawHeaders: readonly string[]): boolean {
  return (
    browserAgent.test(headerValue(rawHeaders, 'user-agent') ?? '') ||
    browserHeaders.some((name) => headerValue(rawHeaders, name) !== undefined)
  )
}
