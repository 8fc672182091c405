/**
 * Applies the contracts of declared queues to programs that use the store through a server: SQS clients and
 * Lambda functions. A message that does not match the contract is rejected at send. If another program put it
 * into the queue, it is dead-lettered at receive, as for workers.
 */
import type { Backend, Delivery, Receive, Send, SendResult } from '../backends/backend.ts'
import type { EnqueuedJob, EnqueueJobs, JobStore, NewJob } from '../backends/job-store.ts'
import { isTriggersQueue } from '../contracts/collector-declaration.ts'
import { contractOf, type QueueContract } from '../contracts/contract-of.ts'
import { isJobsQueue, type JobsQueue } from '../contracts/jobs-declaration.ts'
import type { DeclaredQueue } from '../contracts/queue-declaration.ts'
import { describeGiven } from '../core/checks.ts'
import { MillraceError } from '../core/millrace-error.ts'
import type { Clock } from '../core/ports.ts'
import { declaredJob, readPayload } from '../jobs/declared-job.ts'
import { checkDeliveries, type RefusedDelivery } from '../receiving/check-deliveries.ts'
import { LeaseClient } from '../receiving/lease-client.ts'
import { readDelivery } from '../receiving/read-delivery.ts'

export interface WireContractsSetup {
  readonly backend: Backend
  readonly clock: Pick<Clock, 'monotonic'>
  readonly onRefused: (refused: RefusedDelivery) => void
}

/** After this many receives without a valid message, a receive without a wait returns nothing. */
const looksMax = 10

export class WireContracts {
  /** The store with checks. A queue without a contract costs one map lookup. */
  readonly store: Backend
  readonly #setup: WireContractsSetup
  readonly #client: LeaseClient
  /** Queues whose messages are checked, and all declared queues, by their names. */
  #queues: ReadonlyMap<string, DeclaredQueue> = new Map()
  #declared: ReadonlyMap<string, QueueContract> = new Map()

  constructor(setup: WireContractsSetup) {
    const { backend } = setup
    this.#setup = setup
    this.#client = new LeaseClient(backend)
    const { jobs } = backend
    this.store = {
      ...backend,
      jobs: jobs && { ...jobs, enqueue: (request) => this.#enqueue(jobs, request) },
      send: (request) => {
        const declared = this.#queues.get(request.queue)
        return declared === undefined ? backend.send(request) : this.#send(declared, request)
      },
      receive: (request) => {
        const declared = this.#queues.get(request.queue)
        return declared === undefined ? backend.receive(request) : this.#receive(declared, request)
      },
    }
  }

  /** Replaces all contracts. */
  set(queues: readonly QueueContract[]): void {
    const checked = queues.filter(({ declared }) => hasContract(declared))
    this.#queues = new Map(checked.map(({ name, declared }) => [name, declared]))
    this.#declared = new Map(queues.map((queue) => [queue.name, queue]))
  }

  /** The declared queue with this name in the store. */
  find(name: string): QueueContract | undefined {
    return this.#declared.get(name)
  }

  async #enqueue(store: JobStore, request: EnqueueJobs): Promise<readonly EnqueuedJob[]> {
    const queue = this.#declared.get(request.queue)
    const jobs = await Promise.all(request.jobs.map((job) => checkedJob(queue, job)))
    return store.enqueue({ ...request, jobs })
  }

  async #send(declared: DeclaredQueue, request: Send): Promise<readonly SendResult[]> {
    const errors = await Promise.all(
      request.messages.map(async ({ body }) => errorOf(declared, body)),
    )
    const first = errors.find((error) => error !== undefined)
    const { backend } = this.#setup
    if (first === undefined) return backend.send(request)
    if (request.allOrNothing) throw first
    const messages = request.messages.filter((_, index) => errors[index] === undefined)
    const sent = messages.length === 0 ? [] : await backend.send({ ...request, messages })
    const results = sent.values()
    return errors.flatMap((error) => {
      if (error !== undefined) return [{ status: 'refused', error } as const]
      return results.next().value ?? []
    })
  }

  async #receive(declared: DeclaredQueue, request: Receive): Promise<readonly Delivery[]> {
    const { backend, clock, onRefused } = this.#setup
    const { queue } = request
    const beganMs = clock.monotonic()
    const left = new LeftMessages(clock)
    const noteRefused = (refused: RefusedDelivery): void => {
      if (refused.fate === 'kept') left.note(refused.id)
      onRefused(refused)
    }
    const check = { client: this.#client, queue, declared, onRefused: noteRefused }
    let deliveries = await backend.receive(request)
    let endsMs: number | undefined
    for (let looks = 1; deliveries.length > 0; looks += 1) {
      left.look()
      const checked = await checkDeliveries(check, deliveries)
      if (checked.length > 0) return checked.map(({ delivery }) => delivery)
      endsMs ??= beganMs + (await this.#waitMs(request))
      const leftMs = Math.max(0, Math.ceil(endsMs - clock.monotonic()))
      if (left.areShown || (leftMs === 0 && looks >= looksMax)) return []
      deliveries = await backend.receive({ ...request, waitMs: leftMs })
    }
    return []
  }

  async #waitMs({ queue, waitMs }: Receive): Promise<number> {
    if (waitMs !== undefined) return waitMs
    const { settings } = await this.#setup.backend.readQueue({ queue })
    return settings.receiveWaitMs
  }
}

/** An SQS lease is zero, or at least one second. */
const hiddenMsMin = 500

/**
 * The invalid messages that one receive left in the queue. Without a lease, such a message would be received
 * again at once, before all others, for ever.
 */
class LeftMessages {
  areShown = false
  readonly #clock: Pick<Clock, 'monotonic'>
  readonly #seenMs = new Map<string, number>()
  #lookedMs = 0

  constructor(clock: Pick<Clock, 'monotonic'>) {
    this.#clock = clock
  }

  /** Sets the start of the leases. They begin before the messages are checked, which may take long. */
  look(): void {
    this.#lookedMs = this.#clock.monotonic()
  }

  note(id: string): void {
    const seenMs = this.#seenMs.get(id)
    if (seenMs !== undefined && this.#lookedMs - seenMs < hiddenMsMin) this.areShown = true
    this.#seenMs.set(id, this.#lookedMs)
  }
}

/** Whether the queue has a contract. Triggers belong to collectors and are not checked. */
function hasContract(declared: DeclaredQueue): boolean {
  if (declared.options.checkOnWire === false || isTriggersQueue(declared)) return false
  return isJobsQueue(declared) || contractOf(declared) !== undefined
}

/** Jobs in queues that no app declares can have any type and payload. */
async function checkedJob(queue: QueueContract | undefined, job: NewJob): Promise<NewJob> {
  if (queue === undefined) {
    readPayload(job.payload)
    return job
  }
  const { declared } = queue
  if (isJobsQueue(declared)) return declaredJob({ ...queue, declared }, job)
  const allowed = 'none, because the app declares this queue without job types'
  throw MillraceError.invalid([{ field: 'type', given: describeGiven(job.type), allowed }])
}

/** Returns the error of a message, or undefined. A message in a queue of jobs lacks a type. */
async function errorOf(declared: DeclaredQueue, body: string): Promise<MillraceError | undefined> {
  if (isJobsQueue(declared)) return missingType(declared)
  const read = await readDelivery(declared, { body, job: null })
  return read.status === 'read' ? undefined : read.error
}

function missingType({ options }: JobsQueue): MillraceError {
  const allowed = `one of ${Object.keys(options.types).join(', ')}, because this is a queue of jobs`
  return MillraceError.invalid([{ field: 'type', given: 'nothing', allowed }])
}
