/**
 * The promises that every backend keeps, as tests. Give it the `describe` and `test` of your runner
 * and a function that opens a fresh store; assertions are those of `node:assert`.
 *
 * ```ts
 * import { describe, test } from 'node:test'
 * describeBackendContract({ name: 'my store', describe, test, open: openMyHarness })
 * ```
 */
import { describeAlarms } from './alarms.contract.ts'
import { describeAttemptDetails } from './attempt-details.contract.ts'
import { describeBudgets } from './budgets.contract.ts'
import { describeCeilings } from './ceilings.contract.ts'
import { describeClock } from './clock.contract.ts'
import { describeClosing } from './closing.contract.ts'
import { describeCollectorBatches } from './collector-batches.contract.ts'
import { describeCollectorOperations } from './collector-operations.contract.ts'
import { describeCollectorTriggers } from './collector-triggers.contract.ts'
import { describeCollectors } from './collectors.contract.ts'
import { describeConcurrentSettlements } from './concurrent-settlements.contract.ts'
import { describeConcurrentWriters } from './concurrent-writers.contract.ts'
import { describeDeadLetters } from './dead-letters.contract.ts'
import { describeDeduplication } from './deduplication.contract.ts'
import { describeDelays } from './delays.contract.ts'
import { describeFairTenants } from './fair-tenants.contract.ts'
import { describeFifo } from './fifo.contract.ts'
import { describeFindings } from './findings.contract.ts'
import { describeFlowEnds } from './flow-ends.contract.ts'
import { describeFlowInterleavings } from './flow-interleavings.contract.ts'
import { describeFlowMessages } from './flow-messages.contract.ts'
import { describeFlowSettling } from './flow-settling.contract.ts'
import { describeFlows } from './flows.contract.ts'
import { describeHeldMessages } from './held-messages.contract.ts'
import { describeInboxes } from './inbox.contract.ts'
import { describeInboxFencing } from './inbox-fencing.contract.ts'
import { describeInboxHistory } from './inbox-history.contract.ts'
import { describeJobEmits } from './job-emits.contract.ts'
import { describeJobExpiry } from './job-expiry.contract.ts'
import { describeJobHistory } from './job-history.contract.ts'
import { describeJobIdempotency } from './job-idempotency.contract.ts'
import { describeJobReceipts } from './job-receipts.contract.ts'
import { describeUnnoticedJobEnds } from './job-unnoticed-ends.contract.ts'
import { describeJobWindows } from './job-windows.contract.ts'
import { describeJobs } from './jobs.contract.ts'
import { describeKeyLimits } from './key-limits.contract.ts'
import { describeKillSwitches } from './kill-switches.contract.ts'
import { describeLateAcknowledgements } from './late-acknowledgement.contract.ts'
import { describeLeases } from './leases.contract.ts'
import { describeLongDelays } from './long-delays.contract.ts'
import { describeLongPolling } from './long-polling.contract.ts'
import { describeMetricFigures } from './metric-figures.contract.ts'
import { describeMetrics } from './metrics.contract.ts'
import { describeMoveTasks } from './move-tasks.contract.ts'
import { describeNotifications } from './notifications.contract.ts'
import { describePeek } from './peek.contract.ts'
import { describePurge } from './purge.contract.ts'
import { describeQueues } from './queues.contract.ts'
import { describeReadLeases } from './read-leases.contract.ts'
import { describeReceiveAttempts } from './receive-attempts.contract.ts'
import { describeReceiving } from './receiving.contract.ts'
import { describeRescheduling } from './rescheduling.contract.ts'
import { describeRetention } from './retention.contract.ts'
import { describeRuntimeSchedules } from './runtime-schedules.contract.ts'
import { describeSchedules } from './schedules.contract.ts'
import { describeSending } from './sending.contract.ts'
import { describeSettling } from './settling.contract.ts'
import { describeSpendings } from './spending.contract.ts'
import { describeStacks } from './stacks.contract.ts'
import { describeStatistics } from './statistics.contract.ts'
import { describeStuckJobs } from './stuck-jobs.contract.ts'
import { type ContractRunner, ContractSuite } from './suite.ts'
import { describeSystemAttributes } from './system-attributes.contract.ts'
import { describeWhenReady } from './when-ready.contract.ts'

export type { ContractHarness } from './contract-harness.ts'
export type { ContractRunner } from './suite.ts'

export interface BackendContract extends ContractRunner {
  /** How the backend is called in test names. */
  readonly name: string
}

const behaviours = [
  describeQueues,
  describeSending,
  describeReceiving,
  describeLeases,
  describeReadLeases,
  describeSettling,
  describeLateAcknowledgements,
  describeDelays,
  describeLongPolling,
  describeFairTenants,
  describeFifo,
  describeDeduplication,
  describeReceiveAttempts,
  describeDeadLetters,
  describeMoveTasks,
  describeRetention,
  describeLongDelays,
  describePurge,
  describePeek,
  describeStatistics,
  describeJobs,
  describeJobIdempotency,
  describeJobReceipts,
  describeJobWindows,
  describeJobEmits,
  describeJobHistory,
  describeAttemptDetails,
  describeUnnoticedJobEnds,
  describeJobExpiry,
  describeRescheduling,
  describeCeilings,
  describeKeyLimits,
  describeKillSwitches,
  describeHeldMessages,
  describeBudgets,
  describeSpendings,
  describeAlarms,
  describeNotifications,
  describeMetrics,
  describeMetricFigures,
  describeInboxes,
  describeInboxFencing,
  describeInboxHistory,
  describeSchedules,
  describeRuntimeSchedules,
  describeStuckJobs,
  describeSystemAttributes,
  describeFindings,
  describeStacks,
  describeCollectors,
  describeCollectorBatches,
  describeCollectorTriggers,
  describeCollectorOperations,
  describeFlows,
  describeFlowMessages,
  describeFlowEnds,
  describeFlowSettling,
  describeFlowInterleavings,
  describeWhenReady,
  describeClock,
  describeConcurrentWriters,
  describeConcurrentSettlements,
  describeClosing,
] as const

export function describeBackendContract({ name, ...runner }: BackendContract): void {
  const suite = new ContractSuite(runner)
  suite.describe(`the contract of a backend, kept by ${name}`, () => {
    for (const describeBehaviour of behaviours) describeBehaviour(suite)
  })
}
