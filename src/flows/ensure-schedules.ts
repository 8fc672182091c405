/** Brings the schedules in the store in line with the declared ones; what is not declared is forgotten. */
import { scopeText } from '../contracts/scope-text.ts'
import { MillraceError, type Violation } from '../core/millrace-error.ts'
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
  const scope = scopeText({ app: app.name, stage })
  await store.forgetOthers({ scope, keep: planned.map(({ name }) => name) })
}

/** A message that is the same for every tick is held against its contract now, not when it is due. */
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
          : [{ field: 'payload', given: 'what is refused', allowed: error.message }]
      violations.push(...fields.map((one) => ({ ...one, field: `schedules.${key}: ${one.field}` })))
    }
  }
  if (violations.length > 0) throw MillraceError.invalid(violations, 'invalid_contract')
}

function unsupported(planned: readonly PlannedSchedule[], backend: string): MillraceError {
  const violations = planned.map(({ key }) => ({
    field: `schedules.${key}`,
    given: 'a schedule',
    allowed: `none on ${backend}`,
  }))
  return MillraceError.invalid(violations, 'unsupported')
}
