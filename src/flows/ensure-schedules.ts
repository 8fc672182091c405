/**
 * Brings the schedules in the store in line with the declared ones. During a deployment, versions of an app
 * run side by side, so each renews its declaration regularly. A schedule is removed, or its rule replaced,
 * when no open app has renewed it for a while.
 */
import type { Backend } from '../backends/backend.ts'
import type { ScheduleStore } from '../backends/schedule-store.ts'
import { MillraceError, type Violation } from '../core/millrace-error.ts'
import { minuteMs } from '../core/minutes.ts'
import type { PlannedSchedule, SchedulePlan } from './planned-schedules.ts'
import { checkEnd } from './schedule-end.ts'

export async function ensureSchedules(
  plan: SchedulePlan,
  { schedules: store, capabilities }: Pick<Backend, 'schedules' | 'capabilities'>,
): Promise<void> {
  const { scope, declared } = plan
  if (store === null) {
    if (declared.length > 0) throw unsupported(declared, capabilities.name)
    return
  }
  const now = await store.now()
  await refuseDeclared(declared, now)
  for (const { name, rule } of declared) {
    const nextAt = rule.nextAfter(now)
    await store.ensure({ schedule: name, scope, rule: rule.text, nextAt })
  }
  await renewSchedules(store, plan)
}

/** How often an open app renews its declaration. */
export const renewalMs: number = minuteMs

/** Longer than a live process goes without renewing. */
export const abandonedAfterMs: number = 5 * minuteMs

export async function renewSchedules(
  store: Pick<ScheduleStore, 'now' | 'renew' | 'ensure'>,
  { scope, declared }: Pick<SchedulePlan, 'scope' | 'declared'>,
): Promise<void> {
  const now = await store.now()
  const schedules = declared.map(({ name, rule }) => ({
    ...{ schedule: name, rule: rule.text, nextAt: rule.nextAfter(now) },
  }))
  const abandoned = await store.renew({ scope, schedules, abandonedAfterMs })
  for (const one of schedules) {
    if (abandoned.includes(one.schedule)) await store.ensure({ ...one, scope })
  }
}

/** Checks what only a running app can know: the time, and messages that are the same for every tick. */
async function refuseDeclared(declared: readonly PlannedSchedule[], now: number): Promise<void> {
  const violations: Violation[] = []
  for (const planned of declared) {
    const found = [
      ...checkEnd(planned.until, { now, mayBeOver: true }),
      ...(planned.isComputed ? [] : await refusedFixed(planned)),
    ]
    violations.push(
      ...found.map((one) => ({ ...one, field: `schedules.${planned.key}: ${one.field}` })),
    )
  }
  if (violations.length > 0) throw MillraceError.invalid(violations, 'invalid_contract')
}

async function refusedFixed({ example }: PlannedSchedule): Promise<readonly Violation[]> {
  try {
    await example({ at: new Date(0), id: 'checked-at-the-start' })
    return []
  } catch (error) {
    if (!(error instanceof MillraceError)) throw error
    if (error.violations.length > 0) return error.violations
    return [{ field: 'payload', given: 'an invalid payload', allowed: error.message }]
  }
}

function unsupported(planned: readonly PlannedSchedule[], backend: string): MillraceError {
  const violations = planned.map(({ key }) => ({
    field: `schedules.${key}`,
    given: 'a schedule',
    allowed: `no schedules: the backend ${backend} does not support them`,
  }))
  return MillraceError.invalid(violations, 'unsupported')
}
