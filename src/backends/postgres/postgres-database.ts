/** Postgres as a database of the engine: a transaction for each rule, on any of several connections. */
import type { Client, Pool } from 'pg'
import type { ClockChange } from '../../core/clock-change.ts'
import { MillraceError } from '../../core/millrace-error.ts'
import type { Ports } from '../../core/ports.ts'
import { Receipts } from '../../core/receipt.ts'
import type { Database } from '../../engine/database.ts'
import { keyIds, refuseMissingKeys } from '../../engine/keys/known-keys.ts'
import { receiveNow } from '../../engine/messages/claiming.ts'
import { MessageIds } from '../../engine/messages/message-ids.ts'
import { worthwhileAt } from '../../engine/messages/ready-checks.ts'
import { queueNotFound } from '../../engine/queues/queue.ts'
import { query } from '../../engine/statements.ts'
import { Answer, type Step, type Steps } from '../../engine/steps.ts'
import { StoreClock, type WrittenTime } from '../../engine/store-clock.ts'
import { Switches } from '../../engine/switches/switches-on.ts'
import type { Transaction, View } from '../../engine/transaction.ts'
import type { Backup, BackupReport, Delivery, OtherThread, Receive, WhenReady } from '../backend.ts'
import type { Capabilities } from '../capabilities.ts'
import type { ContentOpening } from '../store.ts'
import { postgresCapabilities } from './capabilities.ts'
import { type Connection, Connections } from './driver/connections.ts'
import { drive } from './driver/drive.ts'
import { isUnreachable, storageError } from './driver/faults.ts'
import { GroupWriter, patienceMs } from './driver/group-writer.ts'
import { migrate, namesOfSchema } from './driver/migrate.ts'
import { Notifications } from './driver/notifications.ts'
import { QueueCache } from './driver/queue-cache.ts'
import { quotedName } from './driver/quoted-name.ts'
import { StatementTexts } from './driver/statement-texts.ts'
import {
  type Moment,
  PostgresTransaction,
  PostgresView,
  type StoreFacts,
} from './driver/transaction.ts'
import { type Waiting, WaitingReceives } from './waiting-receives.ts'

/** The time is written down this often. */
const clockEveryMs = 1_000

/** How often, and for how long, the server is asked what became of a commit. */
const askAgainMs = 100

/** Rows of counters per queue; each process adds to one of them. */
const slots = 16

interface HeadRow extends WrittenTime {
  readonly queues_version: number
  readonly database_ms: number
}

const readHead = query<HeadRow>(`
  SELECT queues_version, clock_ms, wall_ms, uptime_ms, boot,
    CAST(extract(epoch FROM clock_timestamp()) * 1000 AS BIGINT) AS database_ms
  FROM store`)
const readMarks = query<{ id_prefix: string; receipt_key: string }>(
  'SELECT id_prefix, receipt_key FROM store',
)

export interface PostgresDatabaseOptions {
  readonly pool: Pool
  /** The pool is closed with the store. */
  readonly ownsPool: boolean
  readonly schema: string
  /** Makes a connection that listens to other processes. */
  readonly connect: () => Client
  readonly ports: Ports
  /** Takes the time from the ports instead of the database, in tests. Default: false. */
  readonly usesPortsTime?: boolean
  readonly opening: ContentOpening
  /** Creates the schema if it does not exist. */
  readonly create: boolean
  readonly onClockChange?: ((change: ClockChange) => void) | undefined
}

export class PostgresDatabase implements Database {
  readonly capabilities: Capabilities = postgresCapabilities
  readonly otherThread: OtherThread | null = null
  readonly #options: PostgresDatabaseOptions
  readonly #connections: Connections
  readonly #clock: StoreClock
  readonly #waiting: WaitingReceives
  readonly #writer: GroupWriter
  readonly #notifications: Notifications
  readonly #facts: StoreFacts
  #cache = new QueueCache(0, new Switches([]))
  #databaseMs = 0
  #sampledMs = 0
  #running = 0
  #whenIdle: (() => void)[] = []
  #closed: Promise<void> | undefined

  private constructor(
    options: PostgresDatabaseOptions,
    connections: Connections,
    facts: StoreFacts,
  ) {
    this.#options = options
    this.#connections = connections
    this.#facts = facts
    const { ports, usesPortsTime = false, onClockChange } = options
    const { clock } = ports
    const databaseNow = (): number => this.#databaseMs + (clock.monotonic() - this.#sampledMs)
    this.#clock = new StoreClock({
      clock: {
        now: () => (usesPortsTime ? clock.now() : databaseNow()),
        monotonic: () => clock.monotonic(),
      },
      uptime: () => (usesPortsTime ? clock.uptime?.() : undefined),
      onChange: onClockChange && ((change) => ports.timers.soon(() => onClockChange(change))),
    })
    this.#notifications = new Notifications({
      ports,
      connections,
      channel: `millrace:${options.schema}`,
      connect: options.connect,
      onChange: (queues) => this.#waiting.recheck(queues),
    })
    this.#writer = new GroupWriter({ ports, transact: (run) => this.#transact(run) })
    this.#waiting = new WaitingReceives({
      ports,
      claim: (request, queueId) => this.#claimFor(request, queueId),
      track: (look) => this.#tracked(look),
      worthwhileIn: (waiting) => this.#worthwhileIn(waiting),
    })
  }

  static async open(options: PostgresDatabaseOptions): Promise<PostgresDatabase> {
    const { pool, ownsPool, schema, ports, opening, create } = options
    const texts = new StatementTexts(quotedName(schema), namesOfSchema())
    const connections = new Connections(pool, texts, { isOwn: ownsPool })
    const connection = await connections.connect()
    try {
      await migrate(connection, { schema, create })
      refuseMissingKeys(await connection.rows(keyIds, []), opening.keyIds)
      const [marks] = await connection.rows<{ id_prefix: string; receipt_key: string }>(
        readMarks,
        [],
      )
      if (marks === undefined) throw new MillraceError('store_corrupt')
      return new PostgresDatabase(options, connections, {
        schema,
        ids: ports.ids,
        messageIds: new MessageIds(marks.id_prefix),
        receipts: new Receipts(marks.receipt_key),
        memory: { turns: new Map(), historyPosition: 0 },
        isSealed: opening.keyIds.length > 0,
        slot: Math.floor(ports.randomness.next() * slots),
        open: (text) => opening.open(text),
      })
    } finally {
      connection.release()
    }
  }

  async read<T>(rule: (view: View) => Step<T>): Promise<T> {
    if (this.#closed !== undefined) throw new MillraceError('store_closed')
    return this.#onConnection(async (connection) => {
      const { cache, ...moment } = await this.#begin(connection)
      return drive(rule(new PostgresView(connection, this.#facts, cache, moment)))
    }).catch((error: unknown) => {
      throw storageError(error)
    })
  }

  change<T>(rule: (tx: Transaction) => Step<T>): Promise<T> {
    return this.#writer.submit(rule)
  }

  add<T>(rule: (tx: Transaction) => Step<T>): Promise<T> {
    return this.change(rule)
  }

  within<T>(): T {
    throw new MillraceError('unsupported')
  }

  async receive(request: Receive, onEmpty: () => void): Promise<readonly Delivery[]> {
    const { signal } = request
    if (signal?.aborted) throw new MillraceError('aborted')
    let waitMs = 0
    let queueId = 0
    const deliveries = await this.change(function* (tx) {
      const queue = yield* tx.queue(request.queue)
      waitMs = request.waitMs ?? queue.settings.receiveWaitMs
      queueId = queue.id
      return yield* leasedFor(tx, request, waitMs > 0)
    })
    if (deliveries.length > 0) return deliveries
    if (waitMs === 0) {
      onEmpty()
      return []
    }
    await this.#tracked(this.#notifications.listen())
    if (signal?.aborted) throw new MillraceError('aborted')
    if (this.#closed !== undefined) return []
    const awaited = await this.#waiting.wait(request, queueId, waitMs)
    if (awaited.length === 0) onEmpty()
    return awaited
  }

  async whenReady(request: WhenReady): Promise<void> {
    if (this.#closed !== undefined) return
    await this.#tracked(this.#notifications.listen())
    if (this.#closed !== undefined) return
    await this.#waiting.watch(request)
  }

  async check(): Promise<void> {
    await this.change(noSteps)
  }

  backup(_request: Backup): Promise<BackupReport> {
    return Promise.reject(new MillraceError('unsupported'))
  }

  close(): Promise<void> {
    this.#closed ??= this.#shutDown()
    return this.#closed
  }

  /** Resolves when nothing is under way. */
  whenIdle(): Promise<void> {
    if (this.#running === 0) return Promise.resolve()
    return new Promise((resolve) => this.#whenIdle.push(resolve))
  }

  async #shutDown(): Promise<void> {
    this.#waiting.clear()
    const written = this.#writer.submit(noSteps)
    this.#writer.close()
    await written.catch(() => undefined)
    await this.whenIdle()
    await this.#notifications.close()
    await this.#connections.close()
  }

  /** Counts what is under way. */
  async #tracked<T>(work: Promise<T>): Promise<T> {
    this.#running += 1
    try {
      return await work
    } finally {
      this.#running -= 1
      if (this.#running === 0) for (const resolve of this.#whenIdle.splice(0)) resolve()
    }
  }

  #onConnection<T>(run: (connection: Connection) => Promise<T>): Promise<T> {
    return this.#tracked(this.#connected(run))
  }

  async #connected<T>(run: (connection: Connection) => Promise<T>): Promise<T> {
    const connection = await this.#connections.connect()
    try {
      return await run(connection)
    } catch (error) {
      if (isUnreachable(error)) connection.markBroken()
      throw error
    } finally {
      connection.release()
    }
  }

  async #transact(run: (tx: PostgresTransaction) => Promise<void>): Promise<void> {
    const tx = await this.#onConnection(async (connection) => {
      await connection.query('BEGIN')
      let open: PostgresTransaction | undefined
      try {
        const { cache, ...moment } = await this.#begin(connection)
        const id = await connection.transactionId()
        open = new PostgresTransaction(connection, this.#facts, cache, { ...moment, id })
        await run(open)
        await drive(open.finish())
      } catch (error) {
        await connection.query('ROLLBACK').catch(() => connection.markBroken())
        throw open?.failure ?? error
      }
      await this.#commit(connection, open)
      return open
    })
    tx.committed()
    const changed = new Set([...tx.gained, ...tx.touched])
    this.#waiting.recheck(tx.hasChangedQueues ? undefined : changed)
    this.#notifications.send(tx.concernsOthers ? changed : [])
  }

  /** Resolves when the transaction is committed, also if the answer of the server was lost. */
  async #commit(connection: Connection, tx: PostgresTransaction): Promise<void> {
    try {
      const { command } = await connection.query('COMMIT')
      // A transaction that has failed is rolled back by its COMMIT.
      if (command !== 'COMMIT') throw tx.failure ?? new MillraceError('store_failed')
    } catch (error) {
      if (!isUnreachable(error)) throw error
      connection.markBroken()
      if (!(await this.#hasCommitted(tx.id))) throw error
    }
  }

  /** Asks the server what became of a transaction, as soon as it can be reached. */
  async #hasCommitted(transaction: string): Promise<boolean> {
    const { ports } = this.#options
    const startedMs = ports.clock.monotonic()
    for (;;) {
      const status = await this.#connections.transactionStatus(transaction).catch(() => undefined)
      if (status === 'committed') return true
      if (status === 'aborted') return false
      if (ports.clock.monotonic() - startedMs > patienceMs) throw outcomeUnknown()
      await new Promise<void>((resolve) => ports.timers.after(askAgainMs, resolve))
    }
  }

  /** Reads the time, and the queues if they have changed. */
  async #begin(connection: Connection): Promise<Moment & { readonly cache: QueueCache }> {
    const [head] = await connection.rows<HeadRow>(readHead, [])
    if (head === undefined) throw new MillraceError('store_corrupt')
    this.#databaseMs = head.database_ms
    this.#sampledMs = this.#options.ports.clock.monotonic()
    const { queues_version: version } = head
    let cache = this.#cache
    if (version !== cache.version) {
      // A new key raises the version too.
      refuseMissingKeys(await connection.rows(keyIds, []), this.#options.opening.keyIds)
      cache = await QueueCache.read(connection, version)
      // Another transaction may have read a later version meanwhile.
      if (version > this.#cache.version) this.#cache = cache
    }
    const now = this.#clock.now(head)
    // A row that every commit writes would make all of them wait for each other.
    const isTime = now - head.clock_ms >= clockEveryMs
    const clock = isTime ? ([this.#clock.uptimeMs, this.#clock.boot] as const) : undefined
    return { now, wallMs: this.#clock.wallMs, clock, cache }
  }

  #claimFor(request: Receive, queueId: number): Promise<readonly Delivery[]> {
    return this.change(function* (tx) {
      const queue = yield* tx.queue(request.queue)
      if (queue.id !== queueId) throw queueNotFound(request.queue)
      return yield* leasedFor(tx, request, true)
    })
  }

  #worthwhileIn({ queue: name, queueId, heldNames }: Waiting): Promise<number> {
    return this.read(function* (view) {
      const queue = yield* view.findQueue(name)
      // A receive from a queue that was deleted must end too.
      if (queue === undefined || (queueId !== null && queueId !== queue.id)) return 0
      return Math.max(0, (yield* worthwhileAt({ view, queue, heldNames })) - view.now)
    })
  }
}

/** Nothing is leased to a caller that has left. */
function* leasedFor(
  tx: Transaction,
  request: Receive,
  isLongPoll: boolean,
): Steps<readonly Delivery[]> {
  const deliveries = yield* receiveNow(tx, request, isLongPoll)
  if (request.signal?.aborted) throw new MillraceError('aborted')
  return deliveries
}

function outcomeUnknown(): MillraceError {
  return new MillraceError('store_unreachable', {
    message:
      'The database server was lost while it committed, and did not return. The call may have taken effect.',
  })
}

const noSteps = (): Step<void> => new Answer(undefined)
