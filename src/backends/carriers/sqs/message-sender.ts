/** Sends the messages of one queue. */
import { MillraceError } from '../../../core/millrace-error.ts'
import type { Timers } from '../../../core/ports.ts'
import { callBatch, type EntryResult } from '../../../sqs/batch-call.ts'
import type { SentEntry, SqsEntry } from '../../../sqs/send-entry.ts'
import type { CarrierMessage, CarrierSent } from '../carrier.ts'
import type { SqsConnection } from './connection.ts'
import { type OutgoingEntry, outgoingEntry } from './outgoing-entry.ts'
import type { QueueUrls } from './queue-urls.ts'
import { SharedCalls } from './shared-calls.ts'
import { entryError, sqsCodeOf } from './sqs-error.ts'

/** Calls of one process and one queue at the same time. */
const callsMax = 16

export interface QueueScene {
  readonly queue: string
  readonly connection: SqsConnection
  readonly urls: QueueUrls
  readonly timers: Timers
}

interface Outgoing extends OutgoingEntry {
  /** Of the call that sends it: in these groups a message failed, and later messages wait for it. */
  readonly failures: Map<string, Sending>
}

interface Sending {
  readonly sent: CarrierSent
  /** SQS refused the call, and not this message. */
  readonly isCall: boolean
}

const action = 'SendMessageBatch'

export class MessageSender {
  readonly #scene: QueueScene
  readonly #isFifo: boolean
  readonly #calls: SharedCalls<Outgoing, Sending>

  constructor(scene: QueueScene) {
    this.#scene = scene
    this.#isFifo = scene.queue.endsWith('.fifo')
    this.#calls = new SharedCalls({
      timers: scene.timers,
      callsMax: this.#isFifo ? 1 : callsMax,
      bytesOf: ({ bytes }) => bytes,
      run: (entries) => this.#run(entries),
    })
  }

  /** Rejects if no message was sent, for a reason that concerns none of them. */
  async send(messages: readonly CarrierMessage[]): Promise<readonly CarrierSent[]> {
    const failures = new Map<string, Sending>()
    const checked = messages.map((message) => outgoingEntry(message, this.#isFifo))
    const valid = checked.flatMap((one) =>
      one instanceof MillraceError ? [] : [{ ...one, failures }],
    )
    const sendings = await this.#calls.submit(valid)
    const lost = sendings.find(({ isCall }) => isCall)
    if (lost?.sent.status === 'refused' && sendings.every(({ isCall }) => isCall)) {
      throw lost.sent.error
    }
    const results = sendings.values()
    return checked.map((one) =>
      one instanceof MillraceError
        ? { status: 'refused', error: one }
        : (results.next().value as Sending).sent,
    )
  }

  async #run(entries: readonly Outgoing[]): Promise<readonly Sending[]> {
    const open = entries.filter((one) => this.#failureBefore(one) === undefined)
    const results = open.length === 0 ? [] : await this.#sendAll(open)
    const sendings = new Map(
      open.map((one, index) => [one, sendingOf(this.#scene, results[index])]),
    )
    return entries.map((one) => {
      const sending = sendings.get(one) ?? this.#failureBefore(one) ?? sendingOf(this.#scene)
      if (this.#isFifo && sending.sent.status === 'refused' && one.group !== null) {
        one.failures.set(one.group, sending)
      }
      return sending
    })
  }

  #failureBefore({ group, failures }: Outgoing): Sending | undefined {
    return this.#isFifo ? failures.get(group ?? '') : undefined
  }

  /** A message that makes SQS refuse the whole call must not fail the others: each is then sent alone. */
  async #sendAll(entries: readonly Outgoing[]): Promise<readonly EntryResult<SentEntry>[]> {
    const results = await this.#sendBatch(entries)
    if (entries.length === 1 || !results.every((result) => isRefusedCall(result))) return results
    const alone: EntryResult<SentEntry>[] = []
    for (const entry of entries) alone.push(...(await this.#sendBatch([entry])))
    return alone
  }

  #sendBatch(entries: readonly Outgoing[]): Promise<readonly EntryResult<SentEntry>[]> {
    const { queue, connection, urls, timers } = this.#scene
    return callBatch<SqsEntry, SentEntry>({
      entries: entries.map(({ entry }) => entry),
      keepsOrder: this.#isFifo,
      timers,
      call: (batch) =>
        urls.use(queue, (QueueUrl) =>
          connection.call(action, { QueueUrl, Entries: [...batch] }, { queue }),
        ),
    })
  }
}

function isRefusedCall(result: EntryResult<SentEntry>): boolean {
  return (
    'error' in result &&
    result.error instanceof MillraceError &&
    result.error.code === 'carrier_failed'
  )
}

function sendingOf(
  { queue }: QueueScene,
  result: EntryResult<SentEntry> = { failed: {} },
): Sending {
  if ('done' in result) {
    return { sent: { status: 'created', id: result.done.MessageId ?? '' }, isCall: false }
  }
  if ('error' in result) {
    const isOwn = isRefusedCall(result)
    const error = result.error as MillraceError
    const own = isOwn ? refusedMessage(queue, sqsCodeOf(error)) : error
    return { sent: { status: 'refused', error: own }, isCall: !isOwn }
  }
  const { failed } = result
  const error =
    failed.SenderFault === true && !/Throttl|^Kms|AccessDenied/.test(failed.Code ?? '')
      ? refusedMessage(queue, failed.Code)
      : entryError(failed, { action, queue })
  return { sent: { status: 'refused', error }, isCall: false }
}

function refusedMessage(queue: string, code = 'no code'): MillraceError {
  const message = `SQS does not accept the message for queue '${queue}' (${code}).`
  return new MillraceError('invalid_message', { message })
}
