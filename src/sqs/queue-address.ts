/**
 * The address of a queue in SQS: a region, an account and a name. One store has the queues of all addresses.
 * In the server's own region and account, the name in the store is the plain name, so that apps and SQS
 * clients share queues. All other names have a prefix in the store.
 */
export interface QueuePlace {
  readonly region: string
  /** Twelve digits. */
  readonly account: string
}

export interface QueueAddress extends QueuePlace {
  readonly name: string
}

/** The usual settings of clients of SQS emulators. */
export const defaultHome: QueuePlace = { region: 'us-east-1', account: '000000000000' }

const separator = ':'

/** The prefix of names in other regions and accounts; empty for the home region and account. */
export function namespaceOf({ region, account }: QueuePlace, home: QueuePlace): string {
  const isHome = region === home.region && account === home.account
  return isHome ? '' : `${region}${separator}${account}${separator}`
}

/** The name of the queue in the store. */
export function storeNameOf(address: QueueAddress, home: QueuePlace): string {
  return namespaceOf(address, home) + address.name
}

/** The address of a name in the store. */
export function addressOf(storeName: string, home: QueuePlace): QueueAddress {
  const nameAt = storeName.lastIndexOf(separator) + 1
  if (nameAt === 0) return { ...home, name: storeName }
  const [region = '', account = ''] = storeName.split(separator)
  return { region, account, name: storeName.slice(nameAt) }
}

export function formatArn({ region, account, name }: QueueAddress): string {
  return `arn:aws:sqs:${region}:${account}:${name}`
}

const arn = /^arn:aws[a-z-]*:sqs:([a-z0-9-]{1,40}):(\d{12}):([A-Za-z0-9_.-]{1,80})$/

export function parseArn(text: string): QueueAddress | undefined {
  const [, region, account, name] = arn.exec(text) ?? []
  if (region === undefined || account === undefined || name === undefined) return undefined
  return { region, account, name }
}

/**
 * The URL of a queue. It contains the region, unless the host does or it is the server's own region. So the
 * same name in two regions has two URLs.
 *
 * @param origin scheme and host as used by the client, because its next request goes there
 */
export function formatUrl(
  origin: string,
  { region, account, name }: QueueAddress,
  home: Pick<QueuePlace, 'region'>,
): string {
  const host = origin.slice(origin.indexOf('//') + 2)
  const isImplied = region === (regionOfHost(host) ?? home.region)
  return isImplied ? `${origin}/${account}/${name}` : `${origin}/queue/${region}/${account}/${name}`
}

/** The parts of a queue URL. Missing parts come from the caller's credentials. */
export interface QueueReference {
  readonly name: string
  readonly account?: string
  readonly region?: string
}

/** Matches the form of a region, `eu-west-1`, and not any host name that begins with `sqs`. */
const region = '[a-z]{2,8}(?:-[a-z]{2,12}){1,3}-\\d{1,2}'
const regionInHost = new RegExp(`^(?:sqs\\.(${region})\\.|(${region})\\.queue\\.)`)
const pathWithRegion = /^\/queue\/([a-z0-9-]{1,40})\/(\d{12})\/([^/]+)\/?$/
const pathOfQueue = /^\/(\d{12})\/([^/]+)\/?$/

/** The region in a host name: `sqs.eu-west-1.…` or `eu-west-1.queue.…`. */
export function regionOfHost(host: string): string | undefined {
  const [, behind, before] = regionInHost.exec(host.toLowerCase()) ?? []
  return behind ?? before
}

/** Parses the path of a queue URL: `/000000000000/orders`, `/queue/eu-west-1/000000000000/orders`. */
export function parseQueuePath(path: string): QueueReference | undefined {
  const [, region, regionAccount, regionName] = pathWithRegion.exec(path) ?? []
  if (region !== undefined && regionAccount !== undefined && regionName !== undefined) {
    return { region, account: regionAccount, name: regionName }
  }
  const [, account, name] = pathOfQueue.exec(path) ?? []
  return account === undefined || name === undefined ? undefined : { account, name }
}

const absolute = /^https?:\/\/([^/?#]*)(\/[^?#]*)?/i
const bareName = /^[A-Za-z0-9_.-]{1,80}$/

/**
 * Parses a queue URL in any form that clients use, or a plain name. Only the region is read from the host: a
 * request to this server always means a queue of this server.
 */
export function parseQueueUrl(text: string): QueueReference | undefined {
  const [, host, path] = absolute.exec(text) ?? []
  if (host === undefined) {
    return parseQueuePath(text) ?? (bareName.test(text) ? { name: text } : undefined)
  }
  const reference = parseQueuePath(path ?? '/')
  const region = regionOfHost(host)
  if (reference === undefined || region === undefined) return reference
  return { region, ...reference }
}
