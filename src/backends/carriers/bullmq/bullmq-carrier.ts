/** The port of carriers on BullMQ: which calls become which scripts. */
import type { JobType, RedisConnection } from 'bullmq'
import { MillraceError } from '../../../core/millrace-error.ts'
import { pause } from '../../../core/pause.ts'
import type { Ports } from '../../../core/ports.ts'
import type { CarriedLevels } from '../../carried-store.ts'
import type { Page, QueueName } from '../../stored-message.ts'
import type {
  Carrier,
  CarrierCapabilities,
  CarrierDelivery,
  CarrierExtend,
  CarrierMessage,
  CarrierPeek,
  CarrierPeeked,
  CarrierReceive,
  CarrierRelease,
  CarrierRemove,
  CarrierSend,
  CarrierSent,
  CarrierQueue as QueueToEnsure,
} from '../carrier.ts'
import { bullmqCapabilities } from './capabilities.ts'
import { CarrierQueue } from './carrier-queue.ts'
import type { CommandBatch } from './command-batch.ts'
import type { Connections } from './connections.ts'
import { ensureQueue } from './ensure-queue.ts'
import { jobContent, messageContent } from './job-content.ts'
import { handleOf, type Lease, type LeasedJob, leaseOf, receiveCountOf } from './leases.ts'
import type { ResolvedOptions } from './options.ts'
import { jobOf, listsOf, queuePage } from './queue-pages.ts'
import { redisError } from './redis-error.ts'
import { purgeActive } from './scripts.ts'

export interface BullmqCarrierOptions {
  readonly connections: Connections
  readonly connection: RedisConnection
  readonly batch: CommandBatch
  readonly place: string
  readonly options: ResolvedOptions
  readonly check: () => Promise<unknown>
  readonly now: () => number
  readonly ports: Ports
}

/** Of jobs that are removed by one script. */
const sliceMax = 1_000

export class BullmqCarrier implements Carrier {
  readonly capabilities: CarrierCapabilities = bullmqCapabilities
  readonly #options: BullmqCarrierOptions
  readonly #queues = new Map<string, CarrierQueue>()
  readonly #calls = new Set<Promise<unknown>>()
  #closed: Promise<void> | undefined

  constructor(options: BullmqCarrierOptions) {
    this.#options = options
  }

  async ensure({ queue, settings }: QueueToEnsure): Promise<readonly string[]> {
    if (settings.type === 'fifo') {
      const message = `BullMQ has no FIFO queues: keep ${queue} in the store, or place it on SQS.`
      throw new MillraceError('carrier_unusable', { message })
    }
    const { batch, place } = this.#options
    return ensureQueue({ queue, backend: this.#queue(queue).backend, batch, place })
  }

  async removeQueue({ queue }: QueueName): Promise<void> {
    const target = this.#queue(queue)
    const { backend } = target
    target.stopStalledChecks()
    target.forgetAhead()
    await backend.pause(true)
    // In slices, so that Redis has time for others.
    while ((await backend.obliterate({ count: sliceMax, force: true })) > 0);
  }

  async purge({ queue }: QueueName): Promise<void> {
    const { batch } = this.#options
    const target = this.#queue(queue)
    const { backend } = target
    target.forgetAhead()
    await backend.drain(true)
    const keys = [backend.toKey('active'), backend.toKey('stalled')]
    const args = [...keys, backend.toKey(''), sliceMax]
    while (Number(await batch.run(purgeActive.name, args)) === sliceMax);
  }

  async levels({ queue }: QueueName): Promise<CarriedLevels> {
    const { backend, aheadCount } = this.#queue(queue)
    const types: readonly JobType[] = [...listsOf.ready, 'active', 'delayed']
    const [counts, oldest] = await Promise.all([
      backend.getCounts([...types]),
      backend.getJobs([...listsOf.ready], 0, 0, true),
    ])
    const [wait = 0, prioritized = 0, leased = 0, delayed = 0] = counts
    const sentAt = oldest.flat().map(([id, fields]) => jobOf(id, fields).timestamp)
    return {
      ready: wait + prioritized + aheadCount,
      leased: Math.max(0, leased - aheadCount),
      delayed,
      oldestSentAt: sentAt.length === 0 ? null : Math.min(...sentAt),
    }
  }

  send({ queue, messages }: CarrierSend): Promise<readonly CarrierSent[]> {
    return Promise.all(messages.map((message) => this.#sendOne(queue, message)))
  }

  receive(request: CarrierReceive): Promise<readonly CarrierDelivery[]> {
    return this.#tracked(this.#receive(request))
  }

  async extend({ queue, leases }: CarrierExtend): Promise<readonly boolean[]> {
    const target = this.#queue(queue)
    const byDuration = Map.groupBy(leases, ({ visibilityMs }) => Math.ceil(visibilityMs))
    const extended = new Set<string>()
    await Promise.all(
      [...byDuration].map(async ([visibilityMs, group]) => {
        const live = group.flatMap(({ handle }) => leaseOf(handle) ?? [])
        // A lock of BullMQ lasts at least for a millisecond.
        const lasting = visibilityMs > 0 ? live : []
        const tokens = lasting.map(({ token }) => token)
        const ids = lasting.map(({ id }) => id)
        const lost =
          ids.length === 0 ? [] : await target.backend.extendLocks(ids, tokens, visibilityMs)
        for (const { id, token } of lasting) if (!lost.includes(id)) extended.add(token)
        if (visibilityMs > 0) return
        const released = await Promise.all(live.map((lease) => target.unlock(lease)))
        for (const [index, { token }] of live.entries()) if (released[index]) extended.add(token)
      }),
    )
    return leases.map(({ handle }) => extended.has(leaseOf(handle)?.token ?? ''))
  }

  async remove({ queue, messages }: CarrierRemove): Promise<readonly boolean[]> {
    const target = this.#queue(queue)
    return this.#tracked(this.#each(messages, (lease, end) => target.finish(lease, end)))
  }

  async release({ queue, messages }: CarrierRelease): Promise<readonly boolean[]> {
    const target = this.#queue(queue)
    return this.#each(messages, (lease, returned) => target.release(lease, returned))
  }

  async peek({ queue, ...request }: CarrierPeek): Promise<Page<CarrierPeeked>> {
    const { batch, now } = this.#options
    return queuePage({ backend: this.#queue(queue).backend, batch, now }, request)
  }

  async check(): Promise<void> {
    await this.#options.check()
  }

  close(): Promise<void> {
    this.#closed ??= this.#close()
    return this.#closed
  }

  async #close(): Promise<void> {
    const { batch, connections } = this.#options
    const closed = [...this.#queues.values()].map((queue) => queue.close())
    await Promise.allSettled([...closed, ...this.#calls])
    await batch.idle()
    await connections.close()
  }

  async #sendOne(queue: string, message: CarrierMessage): Promise<CarrierSent> {
    const { backend } = this.#queue(queue)
    try {
      const { name, data, jobId, options } = jobContent(message)
      const job = {
        ...{ id: '', name, data, opts: options, timestamp: this.#options.now() },
        ...{ progress: 0, attemptsMade: 0, attemptsStarted: 0, stalledCounter: 0 },
        ...{ failedReason: '', returnvalue: '' },
      }
      return { status: 'created', id: String(await backend.addJob(job, jobId ?? '')) }
    } catch (error) {
      if (error instanceof MillraceError && error.code === 'invalid_argument') {
        return { status: 'refused', error }
      }
      throw error
    }
  }

  async #receive(request: CarrierReceive): Promise<readonly CarrierDelivery[]> {
    const { queue, max, visibilityMs, waitMs, signal } = request
    const { place, ports } = this.#options
    const target = this.#queue(queue)
    const { clock, timers } = ports
    const deadline = clock.monotonic() + waitMs
    const isOver = (): boolean => signal?.aborted === true || this.#closed !== undefined
    while (!isOver()) {
      const { jobs, limitedMs } = await target.fetch(max, visibilityMs)
      if (isOver()) {
        await target.takeBack(jobs)
        break
      }
      const leftMs = deadline - clock.monotonic()
      if (jobs.length > 0 || leftMs <= 0) return jobs.map(delivery)
      // The marker does not show when a rate limit ends.
      if (limitedMs > 0) await pause(timers, Math.min(limitedMs, leftMs), signal)
      else {
        await target.waits.wait({ ms: leftMs, signal }).catch((error: unknown) => {
          throw redisError(error, place)
        })
        if (isOver()) target.waits.passOn()
      }
    }
    return []
  }

  /** The carrier closes when it has ended. */
  #tracked<T>(call: Promise<T>): Promise<T> {
    this.#calls.add(call)
    const forget = (): boolean => this.#calls.delete(call)
    call.then(forget, forget)
    return call
  }

  async #each<T extends { readonly handle: string }>(
    messages: readonly T[],
    run: (lease: Lease, message: T) => Promise<boolean>,
  ): Promise<readonly boolean[]> {
    return Promise.all(
      messages.map((message) => {
        const lease = leaseOf(message.handle)
        return lease !== undefined && run(lease, message)
      }),
    )
  }

  #queue(queue: string): CarrierQueue {
    if (this.#closed !== undefined) throw new MillraceError('store_closed')
    const known = this.#queues.get(queue)
    if (known !== undefined) return known
    const { connections, connection, batch, options, now, ports } = this.#options
    const opened = new CarrierQueue({
      ...{ queue, connection, batch, options, now, ports },
      connect: () => {
        const waiting = connections.another()
        return {
          pop: (marker, seconds) => waiting.bzpopmin(marker, seconds),
          reset: () => connections.reset(waiting),
        }
      },
    })
    this.#queues.set(queue, opened)
    return opened
  }
}

function delivery({ job, lease }: LeasedJob): CarrierDelivery {
  const { id, timestamp, processedOn } = job
  return {
    ...messageContent(job),
    handle: handleOf(lease),
    id,
    sentAt: timestamp,
    // BullMQ keeps only when a job was received last.
    firstReceivedAt: processedOn ?? timestamp,
    receiveCount: receiveCountOf(job),
  }
}
