import { BlockList, isIP } from 'node:net'

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
