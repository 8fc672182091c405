/**
 * Without credentials, a server trusts every program that can connect. A browser on this machine connects on
 * behalf of any open page. So a request must name this machine as its host, which a page of another site
 * cannot do, and must not come from a page of another origin.
 */
import { BlockList, isIP } from 'node:net'

/** The headers of a request that show its origin. */
export interface RequestSource {
  readonly host: string | undefined
  readonly origin: string | undefined
  /** `Sec-Fetch-Site`, which browsers send and pages cannot set. */
  readonly fetchSite: string | undefined
}

/** Whether a program on this machine sent the request, with a name of this machine as host. */
export function isLocalRequest(
  { host, origin, fetchSite }: RequestSource,
  isNameOfOurs: (hostname: string) => boolean = () => false,
): boolean {
  // For a browser, another port of this machine is the same site, and so is another subdomain.
  if (fetchSite === 'cross-site' || fetchSite === 'same-site') return false
  const isOurs = (hostname: string): boolean => isLocalName(hostname) || isNameOfOurs(hostname)
  return isOurs(hostnameOf(`http://${host}`)) && (origin === undefined || isLocalOrigin(origin))
}

function isLocalOrigin(origin: string): boolean {
  return isLocalName(hostnameOf(origin))
}

/** Browsers resolve names below `localhost` to this machine only. */
function isLocalName(hostname: string): boolean {
  return isLoopback(hostname) || hostname.endsWith('.localhost')
}

/** Returns an empty string if there is none. */
function hostnameOf(address: string): string {
  // An IPv6 address has brackets.
  return URL.parse(address)?.hostname.replace(/^\[|\]$/g, '') ?? ''
}

const loopback = new BlockList()
loopback.addSubnet('127.0.0.0', 8, 'ipv4')
loopback.addAddress('::1', 'ipv6')

/** Whether only programs on this machine can reach a server on this host. */
export function isLoopback(host: string): boolean {
  const family = isIP(host)
  // Any other name may resolve to any address.
  if (family === 0) return host.toLowerCase() === 'localhost'
  return loopback.check(host, family === 4 ? 'ipv4' : 'ipv6')
}
