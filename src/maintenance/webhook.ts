/**
 * Posts JSON once to a public internet address. The host name is resolved here, and all its addresses must be
 * public. The connection goes to a checked address, so a DNS change after the check has no effect. Redirects
 * are not followed, and only the status of the response is read.
 */
import { lookup as systemLookup } from 'node:dns/promises'
import { type ClientRequest, request as requestHttp } from 'node:http'
import { request as requestHttps } from 'node:https'
import { isIP, type LookupFunction } from 'node:net'
import { isPublicAddress } from '../core/public-address.ts'

export interface WebhookSetup {
  /** Also allows this machine and private networks. */
  readonly allowPrivate: boolean
  /** The User-Agent header. */
  readonly userAgent: string
  /** Resolves a host name to all its addresses. Default: the resolver of the system. */
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

/** Notifications are small. */
const bodyBytesMax = 65_536

const systemResolve = (host: string): Promise<readonly Address[]> =>
  systemLookup(host, { all: true, verbatim: true })

/** Returns a function that rejects with the reason if the receiver did not accept the notification. */
export function createWebhook(setup: WebhookSetup): Webhook {
  const { allowPrivate, userAgent, resolve = systemResolve } = setup
  return async ({ url, body, headers, signal }) => {
    const target = targetOf(url)
    const bytes = Buffer.byteLength(body)
    if (bytes > bodyBytesMax)
      throw new Error(`The body has ${bytes} bytes; the maximum is ${bodyBytesMax}.`)
    const host = target.hostname.replace(/^\[(.*)\]$/, '$1')
    const addresses = await addressesOf(host, resolve, signal)
    if (!allowPrivate && !addresses.every(({ address }) => isPublicAddress(address))) {
      throw new Error('The address is not a public internet address.')
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
    if (status < 200 || status > 299)
      throw new Error(`The receiver responded with status ${status}.`)
  }
}

function targetOf(text: string): URL {
  const url = URL.parse(text)
  if (url === null || !/^https?:$/.test(url.protocol)) {
    throw new Error('The target is not a URL of the form https://host/path.')
  }
  if (url.username !== '' || url.password !== '') {
    throw new Error('The URL contains credentials, which is not allowed.')
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
  const onAbort = (): void => aborted.reject(new Error('Resolving the host name took too long.'))
  signal.addEventListener('abort', onAbort, { once: true })
  try {
    const addresses = await Promise.race([resolve(host), aborted.promise])
    if (addresses.length === 0) throw new Error('The host name has no address.')
    return addresses
  } finally {
    signal.removeEventListener('abort', onAbort)
  }
}

/** Returns the checked addresses, without resolving the name again. */
function lookupOf(addresses: readonly Address[]): LookupFunction {
  return (_host, options, done) => {
    const [first] = addresses
    if (options.all) done(null, [...addresses])
    else done(null, first?.address ?? '', first?.family)
  }
}

/** Resolves with the status of the response. */
function statusOf(request: ClientRequest, body: string): Promise<number> {
  return new Promise((resolve, reject) => {
    request.once('response', (response) => {
      resolve(response.statusCode ?? 0)
      response.destroy()
    })
    // Stays registered after the response, because closing the connection may cause an error.
    request.on('error', reject)
    // Without this, an upgrade would never settle: it is neither a response nor an error.
    request.once('close', () => reject(new Error('The connection closed without a response.')))
    request.end(body)
  })
}
