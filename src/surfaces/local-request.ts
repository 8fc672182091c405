/**
 * Without credentials a server trusts every program that reaches it, and a browser on this machine reaches it for
 * any page it has open. So requests must name this machine as their host, which a page under another
 * name cannot do, and must not come from a page of another origin.
 */
import { BlockList, isIP } from 'node:net'

/** The headers of a request that tell where it comes from. */
export interface RequestSource {
  readonly host: string | undefined
  readonly origin: string | undefined
  /** `Sec-Fetch-Site`, which browsers send and pages cannot set. */
  readonly fetchSite: string | undefined
}

/** Whether a program on this machine asks, by a name of this machine; some surfaces know more names. */
export function isLocalRequest(
  { host, origin, fetchSite }: RequestSource,
  isNameOfOurs: (hostname: string) => boolean = () => false,
): boolean {
  // Another port of this machine is the same site to a browser, and so is a neighbour's subdomain.
  if (fetchSite === 'cross-site' || fetchSite === 'same-site') return false
  const isOurs = (hostname: string): boolean => isLocalName(hostname) || isNameOfOurs(hostname)
  return isOurs(hostnameOf(`http://${host}`)) && (origin === undefined || isLocalOrigin(origin))
}

function isLocalOrigin(origin: string): boolean {
  return isLocalName(hostnameOf(origin))
}

/** Browsers look for the names below `localhost` nowhere but here. */
function isLocalName(hostname: string): boolean {
  return isLoopback(hostname) || hostname.endsWith('.localhost')
}

/** Empty when there is none. */
function hostnameOf(address: string): string {
  // An IPv6 address stands in brackets.
  return URL.parse(address)?.hostname.replace(/^\[|\]$/g, '') ?? ''
}

const loopback = new BlockList()
loopback.addSubnet('127.0.0.0', 8, 'ipv4')
loopback.addAddress('::1', 'ipv6')

/** Whether only programs of this machine can reach a server on this host. */
export function isLoopback(host: string): boolean {
  const family = isIP(host)
  // Any other name may point anywhere, today or tomorrow.
  if (family === 0) return host.toLowerCase() === 'localhost'
  return loopback.check(host, family === 4 ? 'ipv4' : 'ipv6')
}
