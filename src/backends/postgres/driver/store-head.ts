/**
 * What a process knows of the store before it runs a rule: the time, and the version of the queues with what
 * it remembers of them. It is read again every second, and when a commit finds that the queues have changed.
 */
import type { ClockChange } from '../../../core/clock-change.ts'
import { MillraceError } from '../../../core/millrace-error.ts'
import type { Ports } from '../../../core/ports.ts'
import { keyIds, refuseMissingKeys } from '../../../engine/keys/known-keys.ts'
import { query } from '../../../engine/statements.ts'
import { StoreClock, type WrittenTime } from '../../../engine/store-clock.ts'
import { Switches } from '../../../engine/switches/switches-on.ts'
import type { Connection } from './connections.ts'
import { QueueCache } from './queue-cache.ts'

/** How long what was read counts. */
const freshMs = 1_000

/** The time is written down this often: a row that every commit writes would make all of them wait. */
const clockEveryMs = 1_000

interface HeadRow extends WrittenTime {
  readonly queues_version: number
  readonly database_ms: number
}

const readHead = query<HeadRow>(`
  SELECT queues_version, clock_ms, wall_ms, uptime_ms, boot,
    CAST(extract(epoch FROM clock_timestamp()) * 1000 AS BIGINT) AS database_ms
  FROM store`)

/** When a rule runs, and with which queues. */
export interface Moment {
  readonly now: number
  readonly wallMs: number
  readonly cache: QueueCache
  /** What the commit writes down of the clock, if it is time for that. */
  readonly clock: readonly [uptimeMs: number, boot: string | null] | undefined
}

export interface StoreHeadOptions {
  readonly ports: Ports
  /** Takes the time from the ports instead of the database, in tests. */
  readonly usesPortsTime: boolean
  readonly onClockChange: ((change: ClockChange) => void) | undefined
  /** Of the encryption keys that this process has. */
  readonly keyIds: readonly string[]
}

export class StoreHead {
  readonly #ports: Ports
  readonly #keyIds: readonly string[]
  readonly #clock: StoreClock
  #head: HeadRow | undefined
  #cache = new QueueCache(0, new Switches([]))
  #readMs = Number.NEGATIVE_INFINITY
  #writtenMs = 0

  constructor({ ports, usesPortsTime, onClockChange, keyIds }: StoreHeadOptions) {
    this.#ports = ports
    this.#keyIds = keyIds
    const { clock } = ports
    const databaseNow = (): number =>
      (this.#head?.database_ms ?? 0) + (clock.monotonic() - this.#readMs)
    this.#clock = new StoreClock({
      clock: {
        now: () => (usesPortsTime ? clock.now() : databaseNow()),
        monotonic: () => clock.monotonic(),
      },
      uptime: () => (usesPortsTime ? clock.uptime?.() : undefined),
      onChange: onClockChange && ((change) => ports.timers.soon(() => onClockChange(change))),
    })
  }

  /** Undefined if the store must be read first. */
  known(): Moment | undefined {
    if (this.#head === undefined) return undefined
    if (this.#ports.clock.monotonic() - this.#readMs > freshMs) return undefined
    return this.#moment(this.#head)
  }

  async read(connection: Connection): Promise<Moment> {
    const [head] = await connection.prepared<HeadRow>(readHead, [])
    if (head === undefined) throw new MillraceError('store_corrupt')
    const { queues_version: version } = head
    if (version > this.#cache.version) {
      // A new key raises the version too.
      refuseMissingKeys(await connection.rows(keyIds, []), this.#keyIds)
      const cache = await QueueCache.read(connection, version)
      // Another transaction may have read a later version meanwhile.
      if (version > this.#cache.version) this.#cache = cache
    }
    this.#head = head
    this.#readMs = this.#ports.clock.monotonic()
    return this.#moment(head)
  }

  /** A commit has written the time down. */
  wroteClock(now: number): void {
    this.#writtenMs = Math.max(this.#writtenMs, now)
  }

  /** The queues have changed: what is known does not count any more. */
  outdated(): void {
    this.#readMs = Number.NEGATIVE_INFINITY
  }

  #moment(head: HeadRow): Moment {
    const now = this.#clock.now(head)
    const isTime = now - Math.max(head.clock_ms, this.#writtenMs) >= clockEveryMs
    const clock = isTime ? ([this.#clock.uptimeMs, this.#clock.boot] as const) : undefined
    return { now, wallMs: this.#clock.wallMs, clock, cache: this.#cache }
  }
}
