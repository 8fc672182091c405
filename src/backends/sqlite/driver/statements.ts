/**
 * The prepared statements of one connection, in groups. A group is prepared when it is first used.
 */
import type { DatabaseSync } from 'node:sqlite'
import { type AlarmHistoryStatements, prepareAlarmHistory } from '../alarms/alarm-history.ts'
import { type AlarmStatements, prepareAlarms } from '../alarms/alarm-states.ts'
import { type NotificationStatements, prepareNotifications } from '../alarms/notifications.ts'
import { type BatchStatements, prepareBatches } from '../collectors/batches.ts'
import { type ItemStatements, prepareCollectorItems } from '../collectors/collector-items.ts'
import { type KeyStatements, prepareCollectorKeys } from '../collectors/collector-keys.ts'
import { type MemoryStatements, prepareCollectorMemory } from '../collectors/collector-memory.ts'
import {
  type CollectorReadingStatements,
  prepareCollectorReading,
} from '../collectors/collector-reading.ts'
import { prepareTriggers, type TriggerStatements } from '../collectors/collector-triggers.ts'
import { type FindingStatements, prepareFindings } from '../findings/findings.ts'
import { type FlowCountStatements, prepareFlowCounts } from '../flows/flow-counts.ts'
import { type FlowListingStatements, prepareFlowListing } from '../flows/flow-listing.ts'
import { type FlowUpkeepStatements, prepareFlowUpkeep } from '../flows/flow-maintenance.ts'
import { type FlowStatements, prepareFlows } from '../flows/flow-rows.ts'
import { prepareUnits, type UnitStatements } from '../flows/flow-units.ts'
import { type HandoffStatements, prepareHandoffs } from '../inbox/inbox.ts'
import { type HandoffClaimingStatements, prepareHandoffClaiming } from '../inbox/inbox-claiming.ts'
import { type HandoffEventStatements, prepareHandoffEvents } from '../inbox/inbox-events.ts'
import { type HandoffListingStatements, prepareHandoffListing } from '../inbox/inbox-listing.ts'
import { type EnqueueingStatements, prepareEnqueueing } from '../jobs/enqueueing.ts'
import { type JobControlStatements, prepareJobControl } from '../jobs/job-control.ts'
import { type ForgettingStatements, prepareForgetting } from '../jobs/job-forgetting.ts'
import { type HistoryStatements, prepareHistory } from '../jobs/job-history.ts'
import { type JobListingStatements, prepareJobListing } from '../jobs/job-listing.ts'
import { type JobReadingStatements, prepareJobReading } from '../jobs/job-reading.ts'
import { prepareStuckJobs, type StuckJobStatements } from '../jobs/stuck-jobs.ts'
import { type LaneStatements, prepareLanes } from '../messages/buckets.ts'
import { type ClaimingStatements, prepareClaiming } from '../messages/claiming.ts'
import { type DeadLetterStatements, prepareDeadLettering } from '../messages/dead-lettering.ts'
import { prepareUpkeep, type UpkeepStatements } from '../messages/elapsed-time.ts'
import { type GateStatements, prepareGates } from '../messages/gates.ts'
import { type GroupStatements, prepareGroups } from '../messages/groups.ts'
import { type HidingStatements, prepareHiding } from '../messages/late-receipts.ts'
import { type LeasingStatements, prepareLeasing } from '../messages/leasing.ts'
import { type BodyStatements, prepareBodies } from '../messages/message-rows.ts'
import { type MoveStatements, prepareMoving } from '../messages/move-tasks.ts'
import { type PeekStatements, preparePeeking } from '../messages/peeking.ts'
import { prepareWaking, type WakingStatements } from '../messages/ready-checks.ts'
import { type AttemptStatements, prepareAttempts } from '../messages/receive-attempts.ts'
import { prepareSending, type SendingStatements } from '../messages/sending.ts'
import { prepareSettling, type SettlingStatements } from '../messages/settling.ts'
import { prepareTogether, type TogetherStatements } from '../messages/settling-together.ts'
import { prepareTenants, type TenantStatements } from '../messages/tenants.ts'
import { type HandlerStatements, prepareHandlers } from '../metrics/metric-handlers.ts'
import { type MinuteStatements, prepareMinutes } from '../metrics/metric-minutes.ts'
import { prepareValues, type ValueStatements } from '../metrics/metric-values.ts'
import { type MetricStatements, prepareMetrics } from '../metrics/recording.ts'
import { type AgeStatements, prepareAges } from '../queues/oldest-age.ts'
import { prepareQueues, type QueueStatements } from '../queues/queues.ts'
import { prepareStatistics, type StatisticsStatements } from '../queues/statistics.ts'
import { prepareSchedules, type ScheduleStatements } from '../schedules/schedules.ts'
import { prepareSweeping, type SweepStatements } from '../sweep.ts'
import { type BudgetStatements, prepareBudgets } from '../switches/budgets.ts'
import { prepareSwitches, type SwitchStatements } from '../switches/switches.ts'
import { prepareTransactions, type TransactionStatements } from './transaction.ts'

export class Statements {
  readonly db: DatabaseSync
  #transactions: TransactionStatements | undefined
  #bodies: BodyStatements | undefined
  #sending: SendingStatements | undefined
  #claiming: ClaimingStatements | undefined
  #attempts: AttemptStatements | undefined
  #settling: SettlingStatements | undefined
  #together: TogetherStatements | undefined
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
  #flows: FlowStatements | undefined
  #units: UnitStatements | undefined
  #flowListing: FlowListingStatements | undefined
  #flowUpkeep: FlowUpkeepStatements | undefined
  #collectorTriggers: TriggerStatements | undefined
  #collectorReading: CollectorReadingStatements | undefined
  #collectorItems: ItemStatements | undefined
  #collectorKeys: KeyStatements | undefined
  #collectorMemory: MemoryStatements | undefined
  #batches: BatchStatements | undefined
  #handoffs: HandoffStatements | undefined
  #handoffClaiming: HandoffClaimingStatements | undefined
  #handoffEvents: HandoffEventStatements | undefined
  #handoffListing: HandoffListingStatements | undefined
  #alarms: AlarmStatements | undefined
  #alarmHistory: AlarmHistoryStatements | undefined
  #notifications: NotificationStatements | undefined
  #schedules: ScheduleStatements | undefined
  #findings: FindingStatements | undefined
  #stuckJobs: StuckJobStatements | undefined
  #metrics: MetricStatements | undefined
  #metricMinutes: MinuteStatements | undefined
  #metricHandlers: HandlerStatements | undefined
  #metricValues: ValueStatements | undefined
  #ages: AgeStatements | undefined
  #flowCounts: FlowCountStatements | undefined

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

  get together(): TogetherStatements {
    this.#together ??= prepareTogether(this.db)
    return this.#together
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

  get stuckJobs(): StuckJobStatements {
    this.#stuckJobs ??= prepareStuckJobs(this.db)
    return this.#stuckJobs
  }

  get findings(): FindingStatements {
    this.#findings ??= prepareFindings(this.db)
    return this.#findings
  }

  get schedules(): ScheduleStatements {
    this.#schedules ??= prepareSchedules(this.db)
    return this.#schedules
  }

  get alarms(): AlarmStatements {
    this.#alarms ??= prepareAlarms(this.db)
    return this.#alarms
  }

  get alarmHistory(): AlarmHistoryStatements {
    this.#alarmHistory ??= prepareAlarmHistory(this.db)
    return this.#alarmHistory
  }

  get notifications(): NotificationStatements {
    this.#notifications ??= prepareNotifications(this.db)
    return this.#notifications
  }

  get handoffs(): HandoffStatements {
    this.#handoffs ??= prepareHandoffs(this.db)
    return this.#handoffs
  }

  get handoffClaiming(): HandoffClaimingStatements {
    this.#handoffClaiming ??= prepareHandoffClaiming(this.db)
    return this.#handoffClaiming
  }

  get handoffEvents(): HandoffEventStatements {
    this.#handoffEvents ??= prepareHandoffEvents(this.db)
    return this.#handoffEvents
  }

  get handoffListing(): HandoffListingStatements {
    this.#handoffListing ??= prepareHandoffListing(this.db)
    return this.#handoffListing
  }

  get budgets(): BudgetStatements {
    this.#budgets ??= prepareBudgets(this.db)
    return this.#budgets
  }

  get flows(): FlowStatements {
    this.#flows ??= prepareFlows(this.db)
    return this.#flows
  }

  get units(): UnitStatements {
    this.#units ??= prepareUnits(this.db)
    return this.#units
  }

  get flowListing(): FlowListingStatements {
    this.#flowListing ??= prepareFlowListing(this.db)
    return this.#flowListing
  }

  get flowUpkeep(): FlowUpkeepStatements {
    this.#flowUpkeep ??= prepareFlowUpkeep(this.db)
    return this.#flowUpkeep
  }

  get metrics(): MetricStatements {
    this.#metrics ??= prepareMetrics(this.db)
    return this.#metrics
  }

  get metricMinutes(): MinuteStatements {
    this.#metricMinutes ??= prepareMinutes(this.db)
    return this.#metricMinutes
  }

  get metricHandlers(): HandlerStatements {
    this.#metricHandlers ??= prepareHandlers(this.db)
    return this.#metricHandlers
  }

  get metricValues(): ValueStatements {
    this.#metricValues ??= prepareValues(this.db)
    return this.#metricValues
  }

  get flowCounts(): FlowCountStatements {
    this.#flowCounts ??= prepareFlowCounts(this.db)
    return this.#flowCounts
  }

  get ages(): AgeStatements {
    this.#ages ??= prepareAges(this.db)
    return this.#ages
  }

  get batches(): BatchStatements {
    this.#batches ??= prepareBatches(this.db)
    return this.#batches
  }

  get collectorMemory(): MemoryStatements {
    this.#collectorMemory ??= prepareCollectorMemory(this.db)
    return this.#collectorMemory
  }

  get collectorItems(): ItemStatements {
    this.#collectorItems ??= prepareCollectorItems(this.db)
    return this.#collectorItems
  }

  get collectorKeys(): KeyStatements {
    this.#collectorKeys ??= prepareCollectorKeys(this.db)
    return this.#collectorKeys
  }

  get collectorReading(): CollectorReadingStatements {
    this.#collectorReading ??= prepareCollectorReading(this.db)
    return this.#collectorReading
  }

  get collectorTriggers(): TriggerStatements {
    this.#collectorTriggers ??= prepareTriggers(this.db)
    return this.#collectorTriggers
  }
}
