import { foundation } from './0001-foundation.ts'
import { jobs } from './0002-jobs.ts'
import { gates } from './0003-gates.ts'
import { listing } from './0004-listing.ts'
import { tenants } from './0005-tenants.ts'
import { groupTurns } from './0006-group-turns.ts'
import { flows } from './0007-flows.ts'
import { collectors } from './0008-collectors.ts'
import { schedules } from './0009-schedules.ts'
import { metrics } from './0010-metrics.ts'
import { handoffs } from './0011-handoffs.ts'
import { alarms } from './0012-alarms.ts'
import { clock } from './0013-clock.ts'
import { skippedMoves } from './0014-skipped-moves.ts'
import { keptBatchesAndAlarmRenewals } from './0015-kept-batches-and-alarm-renewals.ts'
import { plainNames } from './0016-plain-names.ts'
import { stacks } from './0017-stacks.ts'
import { pacedMovesAndReleases } from './0018-paced-moves-and-releases.ts'
import { encryptionKeys } from './0019-encryption-keys.ts'
import { ownExpiry } from './0020-own-expiry.ts'
import { itemAttributes } from './0021-item-attributes.ts'
import { attemptDetails } from './0022-attempt-details.ts'
import { limitsByKey } from './0023-limits-by-key.ts'
import { runtimeSchedules } from './0024-runtime-schedules.ts'
import { budgets } from './0025-budgets.ts'
import { receiptKey } from './0026-receipt-key.ts'
import { queueTotals } from './0027-queue-totals.ts'
import { carriers } from './0028-carriers.ts'

/** Applied in order; the schema's version is the number of those applied. Never edit a released one. */
export const migrations: readonly string[] = [
  foundation,
  jobs,
  gates,
  listing,
  tenants,
  groupTurns,
  flows,
  collectors,
  schedules,
  metrics,
  handoffs,
  alarms,
  clock,
  skippedMoves,
  keptBatchesAndAlarmRenewals,
  plainNames,
  stacks,
  pacedMovesAndReleases,
  encryptionKeys,
  ownExpiry,
  itemAttributes,
  attemptDetails,
  limitsByKey,
  runtimeSchedules,
  budgets,
  receiptKey,
  queueTotals,
  carriers,
]
