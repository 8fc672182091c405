/** The context of one request: the caller, the queue, and whether the client is still connected. */
import type { IncomingMessage } from 'node:http'
import { namespaceEnd } from '../../core/check-queue.ts'
import type { Ports } from '../../core/ports.ts'
import {
  formatUrl,
  parseQueuePath,
  parseQueueUrl,
  type QueueAddress,
  type QueueReference,
  regionOfHost,
  storeNameOf,
} from '../../sqs/queue-address.ts'
import type { ActionContext, AddressedQueue, Caller, WireSettings, WireStore } from './action.ts'
import type { OpenWaits } from './open-waits.ts'
import { missingParameter } from './refusals.ts'
import { SqsError } from './sqs-error.ts'
import { queueDoesNotExist } from './store-errors.ts'

/** Shared by all requests. */
export interface ContextSetup {
  readonly store: WireStore
  readonly ports: Ports
  readonly settings: WireSettings
  readonly waits: OpenWaits
  /** Whether callers are authenticated. Then they can only use queues of their own account. */
  readonly isVerified: boolean
}

export interface ContextParts {
  readonly request: IncomingMessage
  readonly path: string
  readonly caller: Caller
  /** The member `QueueUrl`. It takes precedence over the path. */
  readonly queueUrl: string | undefined
}

export class RequestContext implements ActionContext {
  readonly store: WireStore
  readonly ports: Ports
  readonly settings: WireSettings
  readonly caller: Caller
  readonly #setup: ContextSetup
  readonly #parts: ContextParts
  #queue: AddressedQueue | undefined
  #place: Pick<QueueReference, 'region'> = {}
  #gone: AbortSignal | undefined

  constructor(setup: ContextSetup, parts: ContextParts) {
    this.store = setup.store
    this.ports = setup.ports
    this.settings = setup.settings
    this.caller = parts.caller
    this.#setup = setup
    this.#parts = parts
  }

  get traceHeader(): string | undefined {
    const header = this.#parts.request.headers['x-amzn-trace-id']
    return typeof header === 'string' ? header : undefined
  }

  queue(): AddressedQueue {
    this.#queue ??= this.locate({ ...this.#place, ...this.#reference() })
    return this.#queue
  }

  urlOf(address: QueueAddress): string {
    return formatUrl(originOf(this.#parts.request), address, this.settings.home)
  }

  /**
   * The URL of a queue in the home region contains no region. For callers of other regions it means that
   * queue too, or else a queue in the caller's region. Returns undefined if no lookup is needed.
   */
  findRegion(): Promise<void> | undefined {
    const { home } = this.settings
    if (this.caller.region === home.region) return undefined
    const { account, name, region } = this.#given() ?? {}
    if (name === undefined || account === undefined || region !== undefined) return undefined
    const queue = storeNameOf({ ...home, account, name }, home)
    return this.store.readQueue({ queue }).then(
      () => {
        this.#place = { region: home.region }
      },
      () => undefined,
    )
  }

  locate({ name, account, region }: QueueReference): AddressedQueue {
    const { caller, settings } = this
    // In the store, such a name would address a queue of another region and account.
    if (name.includes(namespaceEnd)) throw new SqsError('QueueDoesNotExist', queueDoesNotExist)
    const address = { region: region ?? caller.region, account: account ?? caller.account, name }
    if (this.#setup.isVerified && address.account !== caller.account) {
      const message = `Access to the resource ${this.urlOf(address)} is denied.`
      throw new SqsError('AccessDeniedException', message)
    }
    return { address, name: storeNameOf(address, settings.home) }
  }

  gone(): AbortSignal {
    this.#gone ??= this.#setup.waits.open(this.#parts.request.socket)
    return this.#gone
  }

  #reference(): QueueReference {
    const reference = this.#given()
    if (reference !== undefined) return reference
    const { queueUrl, path } = this.#parts
    if (queueUrl === undefined && path === '/') throw missingParameter('QueueUrl')
    throw new SqsError('QueueDoesNotExist', queueDoesNotExist)
  }

  /** The queue that the request names, if the name can be parsed. */
  #given(): QueueReference | undefined {
    const { queueUrl, path, request } = this.#parts
    if (queueUrl !== undefined) return parseQueueUrl(queueUrl)
    const reference = parseQueuePath(path)
    const region = regionOfHost(request.headers.host ?? '')
    return region === undefined ? reference : reference && { region, ...reference }
  }
}

/**
 * A proxy that terminates TLS sends a header with the protocol. Without a proxy, some clients leave the port
 * out of the host. A URL without the port would not reach this server, so the port is added.
 */
function originOf({ headers, socket }: IncomingMessage): string {
  const { host = '127.0.0.1', 'x-forwarded-proto': proxied } = headers
  const scheme = proxied === 'https' ? 'https' : 'http'
  const isComplete = proxied !== undefined || /:\d+$/.test(host) || socket.localPort === 80
  return `${scheme}://${isComplete ? host : `${host}:${socket.localPort}`}`
}
