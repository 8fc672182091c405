/**
 * Posts JSON to an address on the open internet, once. Names are resolved here, every address that a
 * name has must be public, and the connection goes to an address that was checked: a name that changes
 * between the check and the connection gains nothing. Redirects are not followed, and what is answered
 * beyond the status is not read.
 */
import { lookup as systemLookup } from 'node:dns/promises'
import { type ClientRequest, request as requestHttp } from 'node:http'
import { request as requestHttps } from 'node:https'
import { isIP, type LookupFunction } from 'node:net'
import { isPublicAddress } from '../core/public-address.ts'

export interface WebhookSetup {
  /** Also to this machine, and to networks of one's own. */
  readonly allowPrivate: boolean
  /** Who is asking, for the other side's log. */
  readonly userAgent: string
  /** All addresses of a name. Default: as the system resolves it. */
  readonly resolve?: (host: string) => Promise<readonly Address[]>
}

export interface Address {
  readonly address: string
  readonly family: number
}

export interface WebhookCall {
  readonly url: string
  /** JSON. */
  readonly body: string
  readonly headers: Readonly<Record<string, string>>
  readonly signal: AbortSignal
}

export type Webhook = (call: WebhookCall) => Promise<void>

/** Notifications are small; whatever is larger is not one. */
const bodyBytesMax = 65_536

const systemResolve = (host: string): Promise<readonly Address[]> =>
  systemLookup(host, { all: true, verbatim: true })

/** The answer rejects with the reason when the other side did not take it. */
export function createWebhook(setup: WebhookSetup): Webhook {
  const { allowPrivate, userAgent, resolve = systemResolve } = setup
  return async ({ url, body, headers, signal }) => {
    const target = targetOf(url)
    const bytes = Buffer.byteLength(body)
    if (bytes > bodyBytesMax) throw new Error(`The body has ${bytes} bytes: too many.`)
    const host = target.hostname.replace(/^\[(.*)\]$/, '$1')
    const addresses = await addressesOf(host, resolve, signal)
    if (!allowPrivate && !addresses.every(({ address }) => isPublicAddress(address))) {
      throw new Error('The address is not one of the open internet.')
    }
    const all = {
      'content-type': 'application/json',
      'content-length': String(bytes),
      'user-agent': userAgent,
      ...headers,
    }
    const request = target.protocol === 'https:' ? requestHttps : requestHttp
    const options = { method: 'POST', headers: all, lookup: lookupOf(addresses), agent: false }
    const status = await statusOf(request(target, { ...options, signal }), body)
    if (status < 200 || status > 299) throw new Error(`It was answered with status ${status}.`)
  }
}

function targetOf(text: string): URL {
  const url = URL.parse(text)
  if (url === null || !/^https?:$/.test(url.protocol)) {
    throw new Error('The target is no address of the form https://host/path.')
  }
  if (url.username !== '' || url.password !== '') {
    throw new Error('The address carries credentials, which are not sent.')
  }
  return url
}

async function addressesOf(
  host: string,
  resolve: (host: string) => Promise<readonly Address[]>,
  signal: AbortSignal,
): Promise<readonly Address[]> {
  const family = isIP(host)
  if (family !== 0) return [{ address: host, family }]
  const aborted = Promise.withResolvers<never>()
  const onAbort = (): void => aborted.reject(new Error('It took too long to resolve the name.'))
  signal.addEventListener('abort', onAbort, { once: true })
  try {
    const addresses = await Promise.race([resolve(host), aborted.promise])
    if (addresses.length === 0) throw new Error('The name has no address.')
    return addresses
  } finally {
    signal.removeEventListener('abort', onAbort)
  }
}

/** Answers what was checked, whatever the name means by now. */
function lookupOf(addresses: readonly Address[]): LookupFunction {
  return (_host, options, done) => {
    const [first] = addresses
    if (options.all) done(null, [...addresses])
    else done(null, first?.address ?? '', first?.family)
  }
}

/** The status of the answer, as soon as it is known. */
function statusOf(request: ClientRequest, body: string): Promise<number> {
  return new Promise((resolve, reject) => {
    request.once('response', (response) => {
      resolve(response.statusCode ?? 0)
      response.destroy()
    })
    // Also after the answer: what breaks when the connection is dropped is nobody's business.
    request.on('error', reject)
    // An upgrade is neither an answer nor an error, and whoever waits would do so for ever.
    request.once('close', () => reject(new Error('The connection ended without an answer.')))
    request.end(body)
  })
}
