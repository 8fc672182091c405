/**
 * Keeps browsers from changing anything by GET. An address typed, a link in a mail and a picture on a page
 * are all GET requests, and nobody who follows them means to send a message.
 */
import { SqsError } from '../sqs-error.ts'
import { headerValue, type RequestHead } from './canonical-request.ts'

/** All other actions change something; a receive hides messages and counts. */
const reads = /^(?:Get|List)/

/**
 * Every browser calls itself Mozilla or Opera. The other headers, too, come from browsers alone, but not
 * to every address, so that their absence says nothing. `Sec-Fetch-Mode` is not among them: the `fetch` of
 * Node sends it.
 */
const browserAgent = /^(?:Mozilla|Opera)\//
const browserHeaders = ['sec-fetch-site', 'sec-fetch-dest', 'referer'] as const

export function refuseBrowserWrite({ method, rawHeaders }: RequestHead, action: string): void {
  if (method !== 'GET' || reads.test(action) || !isBrowser(rawHeaders)) return
  throw new SqsError(
    'AccessDeniedException',
    `A browser cannot run ${action} by GET on a server without access keys, because any link could do it. ` +
      'Use POST, or another program than a browser.',
  )
}

function isBrowser(rawHeaders: readonly string[]): boolean {
  return (
    browserAgent.test(headerValue(rawHeaders, 'user-agent') ?? '') ||
    browserHeaders.some((name) => headerValue(rawHeaders, name) !== undefined)
  )
}
