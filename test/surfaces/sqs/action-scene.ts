/**
 * The actions of the wire on a real store, with a clock that the test moves and no network between: what a
 * client would be told, as values.
 */
import assert from 'node:assert/strict'
import { onTestFinished } from 'vitest'
import type { Backend, QueueSettings } from '../../../src/backends/backend.ts'
import { openSqlite } from '../../../src/backends/sqlite/index.ts'
import { addressOf, defaultHome, formatUrl, storeNameOf } from '../../../src/sqs/queue-address.ts'
import type { Action, ActionContext } from '../../../src/surfaces/sqs-protocol/action.ts'
import { changeMessageVisibility } from '../../../src/surfaces/sqs-protocol/actions/change-message-visibility.ts'
import { deleteMessage } from '../../../src/surfaces/sqs-protocol/actions/delete-message.ts'
import { receiveMessage } from '../../../src/surfaces/sqs-protocol/actions/receive-message.ts'
import { sendMessage } from '../../../src/surfaces/sqs-protocol/actions/send-message.ts'
import { SqsError, sqsErrors } from '../../../src/surfaces/sqs-protocol/sqs-error.ts'
import { storeError } from '../../../src/surfaces/sqs-protocol/store-errors.ts'
import {
  type VirtualClock,
  type VirtualPorts,
  virtualPorts,
} from '../../../src/testing/virtual-clock.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'

export const second = 1_000
export const minute: number = 60 * second
export const hour: number = 60 * minute

export type Fields = Parameters<Action['run']>[1]

export interface WireMessage {
  readonly MessageId: string
  readonly ReceiptHandle: string
  readonly Body: string
  readonly MD5OfBody: string
  readonly Attributes?: Readonly<Record<string, string>>
  readonly MD5OfMessageAttributes?: string
  readonly MessageAttributes?: Readonly<Record<string, unknown>>
}

export interface SentAnswer {
  readonly MessageId: string
  readonly MD5OfMessageBody: string
  readonly MD5OfMessageAttributes?: string
  readonly MD5OfMessageSystemAttributes?: string
  readonly SequenceNumber?: string
}

export interface BatchAnswer {
  readonly Successful: readonly (SentAnswer & { readonly Id: string })[]
  readonly Failed: readonly {
    readonly Id: string
    readonly Code: string
    readonly Message: string
    readonly SenderFault: boolean
  }[]
}

/** Who asks, when it is not the server's own account in silence. */
export type Circumstances = Partial<
  Pick<ActionContext, 'caller' | 'traceHeader' | 'gone' | 'locate'>
>

export class ActionScene {
  readonly backend: Backend
  readonly clock: VirtualClock
  readonly ports: VirtualPorts

  constructor(backend: Backend, ports: VirtualPorts) {
    this.backend = backend
    this.clock = ports.clock
    this.ports = ports
  }

  async queue(name: string, settings: Partial<QueueSettings> = {}): Promise<string> {
    const type = name.endsWith('.fifo') ? 'fifo' : 'standard'
    await this.backend.createQueue({ queue: name, settings: { type, ...settings } })
    return name
  }

  /** A queue, and `dead-` before its name for its dead letters. */
  async queueWithDeadLetters(
    name: string,
    maxReceives: number,
    settings: Partial<QueueSettings> = {},
  ): Promise<string> {
    const queue = await this.queue(`dead-${name}`)
    return this.queue(name, { ...settings, deadLetter: { queue, maxReceives } })
  }

  context(queue: string, circumstances: Circumstances = {}): ActionContext {
    return {
      store: this.backend,
      ports: this.ports,
      settings: { home: defaultHome, cooldownMs: 0 },
      caller: { ...defaultHome, id: defaultHome.account },
      traceHeader: undefined,
      queue: () => ({ address: addressOf(queue, defaultHome), name: queue }),
      locate: (reference) => {
        const address = { ...defaultHome, ...reference }
        return { address, name: storeNameOf(address, defaultHome) }
      },
      urlOf: (address) => formatUrl('http://localhost:4566', address, defaultHome),
      gone: () => new AbortController().signal,
      ...circumstances,
    }
  }

  /** The answer without its empty members, since neither protocol writes those. */
  async call<Answer>(
    action: Action,
    queue: string,
    fields: Fields = {},
    circumstances: Circumstances = {},
  ): Promise<Answer> {
    const answer = await action.run(this.context(queue, circumstances), fields)
    return withoutUndefined(answer) as Answer
  }

  send(queue: string, body: string, fields: Fields = {}): Promise<SentAnswer> {
    return this.call(sendMessage, queue, { MessageBody: body, ...fields })
  }

  async receive(queue: string, fields: Fields = {}): Promise<readonly WireMessage[]> {
    interface Answer {
      readonly Messages?: readonly WireMessage[]
    }
    return (await this.call<Answer>(receiveMessage, queue, fields)).Messages ?? []
  }

  async bodies(queue: string, fields: Fields = {}): Promise<readonly string[]> {
    const request = { MaxNumberOfMessages: 10, ...fields }
    return (await this.receive(queue, request)).map(({ Body }) => Body)
  }

  async receiveOne(queue: string, fields: Fields = {}): Promise<WireMessage> {
    const [message, ...others] = await this.receive(queue, fields)
    assert.ok(message !== undefined && others.length === 0, 'exactly one message was expected')
    return message
  }

  delete(queue: string, handle: string): Promise<void> {
    return this.call(deleteMessage, queue, { ReceiptHandle: handle })
  }

  changeVisibility(queue: string, handle: string, seconds: number): Promise<void> {
    const fields = { ReceiptHandle: handle, VisibilityTimeout: seconds }
    return this.call(changeMessageVisibility, queue, fields)
  }
}

export async function openScene(): Promise<ActionScene> {
  const folder = await temporaryFolder('sqs-actions')
  const ports = virtualPorts()
  const backend = await openSqlite({ file: folder.file('millrace.db'), ports })
  onTestFinished(async () => {
    await backend.close()
    await folder.remove()
  })
  return new ActionScene(backend, ports)
}

/** The refusal as a Query client sees it. */
export async function refusal(
  promise: Promise<unknown>,
): Promise<{ code: string; message: string }> {
  const error = await promise.then(
    () => assert.fail('a refusal was expected'),
    (reason: unknown) => (reason instanceof SqsError ? reason : storeError(reason)),
  )
  return { code: sqsErrors[error.kind].queryCode, message: error.message }
}

function withoutUndefined(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutUndefined)
  if (typeof value !== 'object' || value === null || value instanceof Uint8Array) return value
  const entries = Object.entries(value).filter(([, member]) => member !== undefined)
  return Object.fromEntries(entries.map(([name, member]) => [name, withoutUndefined(member)]))
}
