/** Postgres as a database of the engine: a transaction for each rule, on any of several connections. */
import type { Client, Pool } from 'pg'
import type { ClockChange } from '../../core/clock-change.ts'
import { Condition } from '../../core/condition.ts'
import type { AttemptLostListener } from '../../core/lost-attempt.ts'
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
import type { Transaction, View } from '../../engine/transaction.ts'
import type { Backup, BackupReport, Delivery, OtherThread, Receive, WhenReady } from '../backend.ts'
import type { Capabilities } from '../capabilities.ts'
import type { ContentOpening } from '../store.ts'
import { backupRefused } from './backup-advice.ts'
import { postgresCapabilities } from './capabilities.ts'
import { CallerTransactions } from './driver/caller-transactions.ts'
import { ClaimHorizon } from './driver/claim-horizon.ts'
import { CommitSeries } from './driver/commit-mark.ts'
import { type Connection, Connections } from './driver/connections.ts'
import { drive } from './driver/drive.ts'
import { isUnreachable, storageError } from './driver/faults.ts'
import { GroupWriter, type GroupWriterOptions } from './driver/group-writer.ts'
import { migrate, namesOfSchema } from './driver/migrate.ts'
import { Notifications } from './driver/notifications.ts'
import { quotedName } from './driver/quoted-name.ts'
import { SequenceBlock } from './driver/sequence-block.ts'
import { StatementTexts } from './driver/statement-texts.ts'
import { StoreHead } from './driver/store-head.ts'
import { type Committed, Transactions } from './driver/transactions.ts'
import { Vacuum } from './driver/vacuum.ts'
import { PostgresView, type StoreFacts } from './driver/view.ts'
import { type Waiting, WaitingReceives } from './waiting-receives.ts'

/** Rows of counters per queue. */
const slots = 64

/** Calls of one kind share commits, in their order. Those of different kinds run side by side. */
const writeKinds = ['add', 'settle', 'claim', 'change'] as const
type WriteKind = (typeof writeKinds)[number]

interface OpeningRow {
  readonly id_prefix: string
  readonly receipt_key: string
  readonly series: number
}

const readOpening = query<OpeningRow>(`
  SELECT id_prefix, receipt_key, nextval('@schema.commit_series') AS series FROM store`)

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
  /** How long calls wait for a server that cannot be reached before they fail. */
  readonly patienceMs: number
  readonly otherThread: OtherThread | null
  readonly onClockChange?: ((change: ClockChange) => void) | undefined
  readonly onAttemptLost?: AttemptLostListener | undefined
}

export class PostgresDatabase implements Database {
  readonly capabilities: Capabilities = postgresCapabilities
  readonly otherThread: OtherThread | null
  readonly #options: PostgresDatabaseOptions
  readonly #connections: Connections
  readonly #head: StoreHead
  readonly #waiting: WaitingReceives
  readonly #series: readonly CommitSeries[]
  readonly #writers: Readonly<Record<WriteKind, GroupWriter>>
  readonly #notifications: Notifications
  readonly #facts: StoreFacts
  readonly #vacuum: Vacuum
  readonly #transactions: Transactions
  readonly #callers: CallerTransactions
  #running = 0
  readonly #idle = new Condition(() => this.#running === 0)
  #closed: Promise<void> | undefined

  private constructor(
    options: PostgresDatabaseOptions,
    connections: Connections,
    texts: StatementTexts,
    facts: StoreFacts,
    firstSeries: number,
  ) {
    this.#options = options
    this.otherThread = options.otherThread
    this.#connections = connections
    this.#facts = facts
    const { ports, usesPortsTime = false, onClockChange, opening, patienceMs } = options
    this.#head = new StoreHead({ ports, usesPortsTime, onClockChange, keyIds: opening.keyIds })
    const channel = `millrace:${options.schema}`
    this.#notifications = new Notifications({
      ports,
      connections,
      channel,
      connect: options.connect,
      onChange: (changes) => this.#waiting.recheck(changes),
    })
    this.#vacuum = new Vacuum({
      ports,
      schema: quotedName(options.schema),
      query: (text) => this.#tracked(connections.query(text)),
    })
    const head = this.#head
    this.#callers = new CallerTransactions({
      texts,
      facts,
      head,
      channel,
      connected: (run) => this.#connected(run),
    })
    this.#transactions = new Transactions({
      ports,
      patienceMs,
      head,
      facts,
      connected: (run) => this.#tracked(this.#connected(run)),
      notificationOf: (changes) => this.#notifications.ofCommit(changes),
    })
    const all = writeKinds.map((kind, index) => {
      const series = new CommitSeries(firstSeries + index, (firstSeries + index) % slots)
      const transact: GroupWriterOptions['transact'] = async (run) =>
        this.#committed(await this.#transactions.transact(series, run))
      const writer = new GroupWriter({ ports, patienceMs, transact })
      return { kind, series, writer }
    })
    this.#series = all.map(({ series }) => series)
    this.#writers = Object.fromEntries(all.map(({ kind, writer }) => [kind, writer])) as Record<
      WriteKind,
      GroupWriter
    >
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
      await migrate(connection, { schema, create, timers: ports.timers })
      refuseMissingKeys(await connection.rows(keyIds, []), opening.keyIds)
      texts.prepares = await connection.isDirect()
      const [row] = await connection.rows<OpeningRow>(readOpening, [])
      if (row === undefined) throw new MillraceError('store_corrupt')
      const facts: StoreFacts = {
        schema,
        ids: ports.ids,
        messageIds: new MessageIds(row.id_prefix),
        receipts: new Receipts(row.receipt_key),
        memory: { turns: new Map(), historyPosition: 0 },
        onAttemptLost: options.onAttemptLost,
        isSealed: opening.keyIds.length > 0,
        block: new SequenceBlock(ports.clock),
        horizon: new ClaimHorizon(ports.clock),
        open: (text) => opening.open(text),
      }
      return new PostgresDatabase(options, connections, texts, facts, row.series)
    } finally {
      connection.release()
    }
  }

  async read<T>(rule: (view: View) => Step<T>): Promise<T> {
    if (this.#closed !== undefined) throw new MillraceError('store_closed')
    const run = (connection: Connection): Promise<T> =>
      connection.atOneMoment(async () => {
        const moment = await this.#head.read(connection)
        return drive(rule(new PostgresView(connection, this.#facts, moment)))
      })
    return this.#tracked(this.#connections.toRead(() => this.#connected(run))).catch(
      (error: unknown) => {
        throw storageError(error)
      },
    )
  }

  change<T>(rule: (tx: Transaction) => Step<T>): Promise<T> {
    return this.#writers.change.submit(rule)
  }

  add<T>(rule: (tx: Transaction) => Step<T>): Promise<T> {
    return this.#writers.add.submit(rule)
  }

  settle<T>(rule: (tx: Transaction) => Step<T>): Promise<T> {
    return this.#writers.settle.submit(rule)
  }

  settleEntries<Entry, T>(
    key: string,
    entries: readonly Entry[],
    rule: (tx: Transaction, entries: readonly Entry[]) => Step<readonly T[]>,
  ): Promise<readonly T[]> {
    return this.#writers.settle.submitEntries(key, entries, rule)
  }

  within<T>(transaction: object, rule: (tx: Transaction) => Step<T>): Promise<T> {
    if (this.#closed !== undefined) return Promise.reject(new MillraceError('store_closed'))
    return this.#tracked(this.#callers.run(transaction, rule))
  }

  async receive(request: Receive, onEmpty: () => void): Promise<readonly Delivery[]> {
    const { signal } = request
    if (signal?.aborted) throw new MillraceError('aborted')
    let waitMs = 0
    let queueId = 0
    const deliveries = await this.#writers.claim.submit(function* (tx) {
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

  check(): Promise<void> {
    // A commit of its own: a server that can only be read would otherwise pass for a good one.
    return this.add((tx) => new Answer(tx.wroteRow()))
  }

  backup({ file }: Backup): Promise<BackupReport> {
    const { pool: database, schema } = this.#options
    return Promise.reject(backupRefused({ database, schema }, file))
  }

  close(): Promise<void> {
    this.#closed ??= this.#shutDown()
    return this.#closed
  }

  /** Resolves when nothing is under way. */
  whenIdle(): Promise<void> {
    return this.#idle.wait()
  }

  /** Resolves when other processes are notified of what was committed here. */
  whenNotified(): Promise<void> {
    return this.#notifications.whenSent()
  }

  async #shutDown(): Promise<void> {
    this.#waiting.clear()
    const written = Object.values(this.#writers).map((writer) => writer.close())
    await Promise.all(written)
    await this.whenIdle()
    await this.#transactions.forget(this.#series).catch(() => undefined)
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
      this.#idle.check()
    }
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

  #committed({ tx, hasNotified }: Committed): void {
    tx.committed()
    this.#vacuum.note(tx.deadRows)
    this.#waiting.recheck(tx.hasChangedQueues ? undefined : tx.queueChanges)
    if (hasNotified) this.#notifications.committed()
    else if (tx.concernsOthers) this.#notifications.send(tx.queueChanges)
  }

  #claimFor(request: Receive, queueId: number): Promise<readonly Delivery[]> {
    return this.#writers.claim.submit(function* (tx) {
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
