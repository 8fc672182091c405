/** One request as an action sees it: who asks, for which queue, and whether the client is still there. */
import type { IncomingMessage } from 'node:http'
import { namespaceEnd } from '../../core/check-queue.ts'
import type { Ports } from '../../core/ports.ts'
import {
  formatUrl,
  parseQueuePath,
  parseQueueUrl,
  type QueueReference,
  regionOfHost,
  storeNameOf,
} from '../../sqs/queue-address.ts'
import type { ActionContext, AddressedQueue, Caller, WireSettings, WireStore } from './action.ts'
import type { OpenWaits } from './open-waits.ts'
import { missingParameter } from './refusals.ts'
import { SqsError } from './sqs-error.ts'
import { queueDoesNotExist } from './store-errors.ts'

/** What all requests share. */
export interface ContextSetup {
  readonly store: WireStore
  readonly ports: Ports
  readonly settings: WireSettings
  readonly waits: OpenWaits
  /** Whether callers have proved who they are, and so are kept to their own account. */
  readonly isVerified: boolean
}

export interface ContextParts {
  readonly request: IncomingMessage
  readonly path: string
  readonly caller: Caller
  /** The member of that name, which wins over the path. */
  readonly queueUrl: string | undefined
}

export class RequestContext implements ActionContext {
  readonly store: WireStore
  readonly ports: Ports
  readonly settings: WireSettings
  readonly caller: Caller
  readonly origin: string
  readonly #setup: ContextSetup
  readonly #parts: ContextParts
  #queue: AddressedQueue | undefined
  #gone: AbortSignal | undefined

  constructor(setup: ContextSetup, parts: ContextParts) {
    this.store = setup.store
    this.ports = setup.ports
    this.settings = setup.settings
    this.caller = parts.caller
    this.origin = originOf(parts.request)
    this.#setup = setup
    this.#parts = parts
  }

  get traceHeader(): string | undefined {
    const header = this.#parts.request.headers['x-amzn-trace-id']
    return typeof header === 'string' ? header : undefined
  }

  queue(): AddressedQueue {
    this.#queue ??= this.locate(this.#reference())
    return this.#queue
  }

  locate({ name, account, region }: QueueReference): AddressedQueue {
    const { caller, settings } = this
    // In the store such a name would mean a queue of another place, and so of another owner.
    if (name.includes(namespaceEnd)) throw new SqsError('QueueDoesNotExist', queueDoesNotExist)
    const address = { region: region ?? caller.region, account: account ?? caller.account, name }
    if (this.#setup.isVerified && address.account !== caller.account) {
      const message = `Access to the resource ${formatUrl(this.origin, address)} is denied.`
      throw new SqsError('AccessDeniedException', message)
    }
    return { address, name: storeNameOf(address, settings.home) }
  }

  gone(): AbortSignal {
    this.#gone ??= this.#setup.waits.open(this.#parts.request.socket)
    return this.#gone
  }

  #reference(): QueueReference {
    const { queueUrl, path, request } = this.#parts
    if (queueUrl !== undefined) {
      const reference = parseQueueUrl(queueUrl)
      if (reference !== undefined) return reference
      throw invalidAddress(queueUrl)
    }
    const reference = parseQueuePath(path)
    if (reference === undefined) throw missingParameter('QueueUrl')
    const region = regionOfHost(request.headers.host ?? '')
    return region === undefined ? reference : { region, ...reference }
  }
}

function invalidAddress(address: string): SqsError {
  const shown = address.slice(0, 200)
  return new SqsError('InvalidAddress', `The address ${shown} is not valid for this endpoint.`)
}

/** A proxy that speaks TLS for this server says so by a header. */
function originOf({ headers, socket }: IncomingMessage): string {
  const scheme = headers['x-forwarded-proto'] === 'https' ? 'https' : 'http'
  return `${scheme}://${headers.host ?? `127.0.0.1:${socket.localPort}`}`
}
