/**
 * The prepared statements of one connection, group by group. Each group is prepared when it is first
 * needed: a connection that only extends leases, or only enqueues, has a few statements instead of all.
 */
import type { DatabaseSync } from 'node:sqlite'
import { type BudgetStatements, prepareBudgets } from './budgets.ts'
import { type ClaimingStatements, prepareClaiming } from './claiming.ts'
import { type DeadLetterStatements, prepareDeadLettering } from './dead-lettering.ts'
import { type EnqueueingStatements, prepareEnqueueing } from './enqueueing.ts'
import { type GateStatements, prepareGates } from './gates.ts'
import { type GroupStatements, prepareGroups } from './groups.ts'
import { type HidingStatements, prepareHiding } from './hiding.ts'
import { type JobControlStatements, prepareJobControl } from './job-control.ts'
import { type ForgettingStatements, prepareForgetting } from './job-forgetting.ts'
import { type HistoryStatements, prepareHistory } from './job-history.ts'
import { type JobListingStatements, prepareJobListing } from './job-listing.ts'
import { type JobReadingStatements, prepareJobReading } from './job-reading.ts'
import { type LaneStatements, prepareLanes } from './lanes.ts'
import { type LeasingStatements, prepareLeasing } from './leasing.ts'
import { type BodyStatements, prepareBodies } from './messages.ts'
import { type MoveStatements, prepareMoving } from './moving.ts'
import { type PeekStatements, preparePeeking } from './peeking.ts'
import { prepareQueues, type QueueStatements } from './queues.ts'
import { type AttemptStatements, prepareAttempts } from './receive-attempts.ts'
import { prepareSending, type SendingStatements } from './sending.ts'
import { prepareSettling, type SettlingStatements } from './settling.ts'
import { prepareStatistics, type StatisticsStatements } from './statistics.ts'
import { prepareSweeping, type SweepStatements } from './sweeping.ts'
import { prepareSwitches, type SwitchStatements } from './switches.ts'
import { prepareTenants, type TenantStatements } from './tenants.ts'
import { prepareTransactions, type TransactionStatements } from './transaction.ts'
import { prepareUpkeep, type UpkeepStatements } from './upkeep.ts'
import { prepareWaking, type WakingStatements } from './waking.ts'

export class Statements {
  readonly db: DatabaseSync
  #transactions: TransactionStatements | undefined
  #bodies: BodyStatements | undefined
  #sending: SendingStatements | undefined
  #claiming: ClaimingStatements | undefined
  #attempts: AttemptStatements | undefined
  #settling: SettlingStatements | undefined
  #hiding: HidingStatements | undefined
  #deadLettering: DeadLetterStatements | undefined
  #groups: GroupStatements | undefined
  #tenants: TenantStatements | undefined
  #upkeep: UpkeepStatements | undefined
  #queues: QueueStatements | undefined
  #moving: MoveStatements | undefined
  #sweeping: SweepStatements | undefined
  #peeking: PeekStatements | undefined
  #statistics: StatisticsStatements | undefined
  #waking: WakingStatements | undefined
  #enqueueing: EnqueueingStatements | undefined
  #history: HistoryStatements | undefined
  #forgetting: ForgettingStatements | undefined
  #jobReading: JobReadingStatements | undefined
  #jobListing: JobListingStatements | undefined
  #jobControl: JobControlStatements | undefined
  #gates: GateStatements | undefined
  #lanes: LaneStatements | undefined
  #leasing: LeasingStatements | undefined
  #switches: SwitchStatements | undefined
  #budgets: BudgetStatements | undefined

  constructor(db: DatabaseSync) {
    this.db = db
  }

  get transactions(): TransactionStatements {
    this.#transactions ??= prepareTransactions(this.db)
    return this.#transactions
  }

  get bodies(): BodyStatements {
    this.#bodies ??= prepareBodies(this.db)
    return this.#bodies
  }

  get sending(): SendingStatements {
    this.#sending ??= prepareSending(this.db)
    return this.#sending
  }

  get claiming(): ClaimingStatements {
    this.#claiming ??= prepareClaiming(this.db)
    return this.#claiming
  }

  get attempts(): AttemptStatements {
    this.#attempts ??= prepareAttempts(this.db)
    return this.#attempts
  }

  get settling(): SettlingStatements {
    this.#settling ??= prepareSettling(this.db)
    return this.#settling
  }

  get hiding(): HidingStatements {
    this.#hiding ??= prepareHiding(this.db)
    return this.#hiding
  }

  get deadLettering(): DeadLetterStatements {
    this.#deadLettering ??= prepareDeadLettering(this.db)
    return this.#deadLettering
  }

  get groups(): GroupStatements {
    this.#groups ??= prepareGroups(this.db)
    return this.#groups
  }

  get tenants(): TenantStatements {
    this.#tenants ??= prepareTenants(this.db)
    return this.#tenants
  }

  get upkeep(): UpkeepStatements {
    this.#upkeep ??= prepareUpkeep(this.db)
    return this.#upkeep
  }

  get queues(): QueueStatements {
    this.#queues ??= prepareQueues(this.db)
    return this.#queues
  }

  get moving(): MoveStatements {
    this.#moving ??= prepareMoving(this.db)
    return this.#moving
  }

  get sweeping(): SweepStatements {
    this.#sweeping ??= prepareSweeping(this.db)
    return this.#sweeping
  }

  get peeking(): PeekStatements {
    this.#peeking ??= preparePeeking(this.db)
    return this.#peeking
  }

  get statistics(): StatisticsStatements {
    this.#statistics ??= prepareStatistics(this.db)
    return this.#statistics
  }

  get waking(): WakingStatements {
    this.#waking ??= prepareWaking(this.db)
    return this.#waking
  }

  get enqueueing(): EnqueueingStatements {
    this.#enqueueing ??= prepareEnqueueing(this.db)
    return this.#enqueueing
  }

  get history(): HistoryStatements {
    this.#history ??= prepareHistory(this.db)
    return this.#history
  }

  get forgetting(): ForgettingStatements {
    this.#forgetting ??= prepareForgetting(this.db)
    return this.#forgetting
  }

  get jobListing(): JobListingStatements {
    this.#jobListing ??= prepareJobListing(this.db)
    return this.#jobListing
  }

  get jobReading(): JobReadingStatements {
    this.#jobReading ??= prepareJobReading(this.db)
    return this.#jobReading
  }

  get jobControl(): JobControlStatements {
    this.#jobControl ??= prepareJobControl(this.db)
    return this.#jobControl
  }

  get gates(): GateStatements {
    this.#gates ??= prepareGates(this.db)
    return this.#gates
  }

  get lanes(): LaneStatements {
    this.#lanes ??= prepareLanes(this.db)
    return this.#lanes
  }

  get leasing(): LeasingStatements {
    this.#leasing ??= prepareLeasing(this.db)
    return this.#leasing
  }

  get switches(): SwitchStatements {
    this.#switches ??= prepareSwitches(this.db)
    return this.#switches
  }

  get budgets(): BudgetStatements {
    this.#budgets ??= prepareBudgets(this.db)
    return this.#budgets
  }
}
