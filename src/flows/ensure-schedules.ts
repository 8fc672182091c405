/**
 * Brings the schedules in the store in line with the declared ones. During a deployment, versions of an app
 * run side by side, so each renews its declaration regularly. A schedule is removed, or its rule replaced,
 * when no open app has renewed it for a while.
 */
import type { ScheduleStore } from '../backends/schedule-store.ts'
import { scopeText } from '../contracts/scope-text.ts'
import { MillraceError, type Violation } from '../core/millrace-error.ts'
import { minuteMs } from '../core/minutes.ts'
import { type PlannedSchedule, planSchedules, type SchedulePlan } from './planned-schedules.ts'

export async function ensureSchedules(plan: SchedulePlan): Promise<void> {
  const { app, stage, backend } = plan
  const planned = planSchedules(plan)
  const store = backend.schedules
  if (store === null) {
    if (planned.length > 0) throw unsupported(planned, backend.capabilities.name)
    return
  }
  await refuseFixedMessages(planned)
  const now = await store.now()
  for (const { name, scope, rule } of planned) {
    const nextAt = rule.nextAfter(now)
    await store.ensure({ schedule: name, scope, rule: rule.text, nextAt })
  }
  await renewSchedules(store, planned, scopeText({ app: app.name, stage }))
}

/** How often an open app renews its declaration. */
export const renewalMs: number = minuteMs

/** Longer than a live process goes without renewing. */
export const abandonedAfterMs: number = 5 * minuteMs

export async function renewSchedules(
  store: Pick<ScheduleStore, 'now' | 'renew' | 'ensure'>,
  planned: readonly PlannedSchedule[],
  scope: string,
): Promise<void> {
  const now = await store.now()
  const schedules = planned.map(({ name, rule }) => ({
    ...{ schedule: name, rule: rule.text, nextAt: rule.nextAfter(now) },
  }))
  const abandoned = await store.renew({ scope, schedules, abandonedAfterMs })
  for (const declared of schedules) {
    if (abandoned.includes(declared.schedule)) await store.ensure({ ...declared, scope })
  }
}

/** Checks messages that are the same for every tick now, not when the tick is due. */
async function refuseFixedMessages(planned: readonly PlannedSchedule[]): Promise<void> {
  const violations: Violation[] = []
  for (const { key, isComputed, emission } of planned) {
    if (isComputed) continue
    try {
      await emission({ at: new Date(0), id: 'checked-at-the-start' })
    } catch (error) {
      if (!(error instanceof MillraceError)) throw error
      const fields =
        error.violations.length > 0
          ? error.violations
          : [{ field: 'payload', given: 'an invalid payload', allowed: error.message }]
      violations.push(...fields.map((one) => ({ ...one, field: `schedules.${key}: ${one.field}` })))
    }
  }
  if (violations.length > 0) throw MillraceError.invalid(violations, 'invalid_contract')
}

function unsupported(planned: readonly PlannedSchedule[], backend: string): MillraceError {
  const violations = planned.map(({ key }) => ({
    field: `schedules.${key}`,
    given: 'a schedule',
    allowed: `no schedules: the backend ${backend} does not support them`,
  }))
  return MillraceError.invalid(violations, 'unsupported')
}
