/** Turns a message or job of an app into an entry for SQS, after the checks of `send` and `enqueue`. */
import { isJobsQueue } from '../contracts/jobs-declaration.ts'
import type { NamedQueue } from '../contracts/resolve-names.ts'
import type { PlannedSettings } from '../contracts/resolve-queues.ts'
import { isLongDelay, messageBytes, refuseMessage } from '../core/check-message.ts'
import { formatDuration } from '../core/durations.ts'
import { isoTime } from '../core/iso-time.ts'
import { limits } from '../core/limits.ts'
import type { NewMessage } from '../core/message.ts'
import { MillraceError } from '../core/millrace-error.ts'
import { systemPorts } from '../core/ports.ts'
import { renameFields } from '../core/rename-fields.ts'
import type { JobOptions } from '../jobs/job-options.ts'
import { createJobProducer } from '../jobs/job-producer.ts'
import { createProducer, type UntypedProducer } from '../producer/queue-producer.ts'
import { type AnySendOptions, callerNames } from '../producer/send-options.ts'
import { sentJobAttributes, textAttribute } from '../sqs/job-attributes.ts'
import { type SqsEntry, sendEntryOf } from '../sqs/send-entry.ts'

export interface CheckedEntry {
  readonly entry: SqsEntry
  readonly bytes: number
}

const { clock } = systemPorts

export class EntryMaker {
  readonly queue: NamedQueue
  readonly #settings: PlannedSettings
  readonly #messages: UntypedProducer

  constructor(queue: NamedQueue, settings: PlannedSettings) {
    this.queue = queue
    this.#settings = settings
    this.#messages = createProducer({ backend: { send: notHere }, clock, ...queue })
  }

  async message(
    message: unknown,
    options: AnySendOptions = {},
    field?: string,
  ): Promise<CheckedEntry> {
    const { declared, key } = this.queue
    if (isJobsQueue(declared)) {
      const given = `'${key}', a queue of jobs`
      const allowed = 'a queue of messages: use enqueue() for jobs'
      throw MillraceError.invalid([{ field: 'queue', given, allowed }])
    }
    const emitted = await this.#messages.prepare(message, options, field).toEmitted()
    return this.#checked(emitted.message)
  }

  async job(type: string, payload: unknown, options: JobOptions): Promise<CheckedEntry> {
    const { declared, name, key } = this.queue
    if (!isJobsQueue(declared)) {
      const allowed = 'a queue of jobs: use send() for messages'
      throw MillraceError.invalid([{ field: 'queue', given: `'${key}'`, allowed }])
    }
    const store = { enqueue: notHere, enqueueWithin: notHere }
    const job = await createJobProducer({ store, name, declared, clock }).prepare(
      type,
      payload,
      options,
    )
    const { payload: body, delayMs: delay, tenant: group, owner, idempotency } = job
    return this.#checked(
      {
        body,
        ...(delay !== undefined && { delayMs: delay }),
        ...(group !== undefined && { group }),
      },
      {
        [sentJobAttributes.type]: textAttribute(type),
        ...(owner !== undefined && { [sentJobAttributes.owner]: textAttribute(owner) }),
        ...(idempotency && {
          [sentJobAttributes.idempotencyKey]: textAttribute(idempotency.key),
        }),
      },
    )
  }

  /** @param reserved attributes with names that no sender may use */
  #checked(given: NewMessage, reserved: NewMessage['attributes'] = {}): CheckedEntry {
    const now = clock.now()
    const { runAt, ...others } = given
    const message = runAt === undefined ? given : { ...others, delayMs: Math.max(0, runAt - now) }
    const refusal = refuseLongDelay(message, runAt) ?? refuseMessage(message, this.#settings, now)
    if (refusal !== undefined) throw renameFields(refusal, callerNames(this.queue.declared))
    const attributes = { ...message.attributes, ...reserved }
    const hasAttributes = Object.keys(attributes).length > 0
    const sent = hasAttributes ? { ...message, attributes } : message
    return { entry: sendEntryOf(sent), bytes: messageBytes(sent) }
  }
}

/** SQS delays a message by at most 15 minutes, in whole seconds. */
function refuseLongDelay(
  { delayMs = 0 }: NewMessage,
  runAt: number | undefined,
): MillraceError | undefined {
  if (!isLongDelay(delayMs)) return undefined
  const most = `at most ${formatDuration(limits.delayMs.max)}`
  const violation =
    runAt === undefined
      ? { field: 'delay', given: formatDuration(delayMs), allowed: most }
      : { field: 'runAt', given: isoTime(runAt), allowed: `a time ${most} away` }
  const allowed = `${violation.allowed}, which is the limit of SQS`
  return MillraceError.invalid([{ ...violation, allowed }])
}

/** The producers only encode and check here. */
function notHere(): never {
  throw new MillraceError('unsupported')
}
