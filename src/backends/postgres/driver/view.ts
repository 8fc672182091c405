/** A store in Postgres at one moment, to be read on one connection. */
import type { AttemptLostListener } from '../../../core/lost-attempt.ts'
import type { Ids } from '../../../core/ports.ts'
import type { Receipts } from '../../../core/receipt.ts'
import { snakeCase } from '../../../core/snake-case.ts'
import type { MessageIds } from '../../../engine/messages/message-ids.ts'
import { type Queue, queueNotFound } from '../../../engine/queues/queue.ts'
import { type Query, query, type Value } from '../../../engine/statements.ts'
import type { Steps } from '../../../engine/steps.ts'
import type { Switches } from '../../../engine/switches/switches-on.ts'
import {
  type Counts,
  countNames,
  noCounts,
  type ProcessMemory,
  type View,
} from '../../../engine/transaction.ts'
import type { ClaimHorizon } from './claim-horizon.ts'
import type { TransactionConnection } from './connections.ts'
import type { QueueCache } from './queue-cache.ts'
import { blockSize, type SequenceBlock } from './sequence-block.ts'
import type { Moment } from './store-head.ts'

const sql = {
  counts: query<Counts>(`
    SELECT ${countNames.map((name) => `${snakeCase(name)} AS "${name}"`).join(', ')}
    FROM queue_total WHERE queue = ?`),
  lastSequence: query<{ last: number }>(`
    SELECT CASE WHEN is_called THEN last_value + ${blockSize - 1} ELSE 0 END AS last
    FROM message_sequence`),
}

/** What is the same for all transactions of a store. */
export interface StoreFacts {
  readonly ids: Ids
  readonly messageIds: MessageIds
  readonly receipts: Receipts
  readonly memory: ProcessMemory
  readonly onAttemptLost: AttemptLostListener | undefined
  readonly isSealed: boolean
  /** Tells the locks of this store from those of others in the same database. */
  readonly schema: string
  /** Numbers that this process has taken ahead. */
  readonly block: SequenceBlock
  /** Where claims of this process start. */
  readonly horizon: ClaimHorizon
  open(text: string): string
}

export class PostgresView implements View {
  readonly now: number
  readonly wallMs: number
  protected readonly facts: StoreFacts
  protected readonly connection: TransactionConnection
  protected cache: QueueCache

  constructor(connection: TransactionConnection, facts: StoreFacts, moment: Moment) {
    this.connection = connection
    this.facts = facts
    this.cache = moment.cache
    this.now = moment.now
    this.wallMs = moment.wallMs
  }

  get ids(): Ids {
    return this.facts.ids
  }

  get messageIds(): MessageIds {
    return this.facts.messageIds
  }

  get receipts(): Receipts {
    return this.facts.receipts
  }

  get switches(): Switches {
    return this.cache.switches
  }

  get memory(): ProcessMemory {
    return this.facts.memory
  }

  get isSealed(): boolean {
    return this.facts.isSealed
  }

  open(text: string): string {
    return this.facts.open(text)
  }

  *one<Row>(query: Query<Row>, ...values: readonly Value[]): Steps<Row | undefined> {
    const rows = yield* this.all(query, ...values)
    return rows[0]
  }

  *all<Row>(query: Query<Row>, ...values: readonly Value[]): Steps<readonly Row[]> {
    return (yield this.connection.rows<Row>(query, values)) as readonly Row[]
  }

  *queue(name: string): Steps<Queue> {
    const queue = yield* this.findQueue(name)
    if (queue === undefined) throw queueNotFound(name)
    return queue
  }

  *findQueue(name: string): Steps<Queue | undefined> {
    const known = this.cache.known(name)
    if (known !== undefined) return known
    return (yield this.cache.find(this.connection, name)) as Queue | undefined
  }

  *counts(queue: Queue): Steps<Counts> {
    return (yield* this.one(sql.counts, queue.id)) ?? noCounts
  }

  *lastSequence(): Steps<number> {
    return (yield* this.one(sql.lastSequence))?.last ?? 0
  }
}
