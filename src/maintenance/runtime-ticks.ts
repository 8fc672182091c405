/**
 * Ticks of schedules that were set at run time: many in one commit, because a million of them may be due in
 * the same minute. Their payloads are fixed, so a tick that fails is abandoned and reported at once.
 */
import type { ScheduleRecord, ScheduleStore, Tick, TickResult } from '../backends/schedule-store.ts'
import { errorSummary } from '../core/error-summary.ts'
import type { SchedulePlan } from '../flows/planned-schedules.ts'
import type { Logger } from '../observability/logger.ts'
import { type DueTick, dueTick, isAborted, isOfStore, type TickFailure } from './due-tick.ts'

export interface RuntimeTicksSetup {
  readonly store: Pick<ScheduleStore, 'tick'>
  readonly plan: SchedulePlan
  readonly log: Logger
  /** Rejects after a timeout, or when the scheduler stops. */
  readonly inTime: <T>(work: Promise<T>) => Promise<T>
  readonly onTickFailure: (failure: TickFailure) => void
}

interface Prepared {
  readonly due: DueTick
  readonly tick: Tick
  /** Why its message could not be made. */
  readonly error?: unknown
}

/** Ticks these, which are due. Resolves with how many of them it could read. */
export async function tickRuntime(
  setup: RuntimeTicksSetup,
  records: readonly ScheduleRecord[],
  now: number,
): Promise<number> {
  const due = records.flatMap((record) => plannedTick(setup, record, now) ?? [])
  const prepared = await Promise.all(due.map((one) => prepare(setup, one)))
  const refused = await tickAll(setup, prepared)
  if (refused.length > 0) await tickAll(setup, refused)
  return due.length
}

/** Undefined if a newer version of Millrace wrote something that this one cannot read. */
function plannedTick(
  { plan, log }: RuntimeTicksSetup,
  record: ScheduleRecord,
  now: number,
): DueTick | undefined {
  try {
    return dueTick(plan.planned(record, record.definition ?? ''), record, now)
  } catch (error) {
    log.error({ schedule: record.schedule, error: errorSummary(error) }, 'schedule not readable')
    return undefined
  }
}

async function prepare({ inTime }: RuntimeTicksSetup, due: DueTick): Promise<Prepared> {
  const { planned, move, sends } = due
  if (sends === null) return { due, tick: move }
  try {
    return { due, tick: { ...move, emission: await inTime(planned.emission(sends)) } }
  } catch (error) {
    if (isAborted(error)) throw error
    return abandoned(due, error)
  }
}

function abandoned(due: DueTick, error: unknown): Prepared {
  return { due, tick: { ...due.move, failure: errorSummary(error) }, error }
}

/** Returns those that the store refused, to be abandoned. */
async function tickAll(
  setup: RuntimeTicksSetup,
  prepared: readonly Prepared[],
): Promise<readonly Prepared[]> {
  if (prepared.length === 0) return []
  const results = await resultsOf(setup.store, prepared)
  return prepared.flatMap((one, index) => {
    const result = results[index]
    if (result?.status === 'refused') return abandoned(one.due, result.error)
    if (result?.status === 'ticked') report(setup, one, result.id)
    return []
  })
}

/** If one of them makes the whole call fail, each gets a call of its own. */
async function resultsOf(
  store: Pick<ScheduleStore, 'tick'>,
  prepared: readonly Prepared[],
): Promise<readonly TickResult[]> {
  try {
    return await store.tick({ ticks: prepared.map(({ tick }) => tick) })
  } catch (error) {
    if (isOfStore(error)) throw error
    if (prepared.length === 1) return [{ status: 'refused', error: error as never }]
    const alone = await Promise.all(prepared.map((one) => resultsOf(store, [one])))
    return alone.flat()
  }
}

function report(
  { log, onTickFailure }: RuntimeTicksSetup,
  { due, error }: Prepared,
  id: string | null,
): void {
  const { planned, move, sends } = due
  const { key: schedule } = planned
  const { skipped, nextAt } = move
  if (error !== undefined) {
    onTickFailure({ schedule, at: new Date(move.at), error, tries: 1, retryInMs: null })
  } else if (sends !== null) {
    log.info({ schedule, at: sends.at.toISOString(), id, skipped }, 'schedule ticked')
  } else if (skipped > 0) log.info({ schedule, skipped }, 'schedule skipped')
  if (nextAt === null) log.info({ schedule }, 'schedule ended')
}
