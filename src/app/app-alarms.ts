/** The alarms of an open app: which rules it declares, and the service that evaluates them. */
import type { Backend } from '../backends/backend.ts'
import { type AlarmScope, type ResolvedAlarm, resolveAlarms } from '../contracts/resolve-alarms.ts'
import type { AlarmRule } from '../core/alarm-rule.ts'
import { MillraceError } from '../core/millrace-error.ts'
import { minuteMs } from '../core/minutes.ts'
import type { Ports } from '../core/ports.ts'
import { abandonedAfterMs } from '../flows/ensure-schedules.ts'
import type { AlarmChange } from '../maintenance/alarms/alarm-change.ts'
import { type AlarmSource, AlarmWatch } from '../maintenance/alarms/alarm-watch.ts'
import { type Notice, serviceFailure } from './notice.ts'

export interface AlarmWatchSetup {
  readonly backend: Backend
  readonly ports: Ports
  /** Called with changes of states. */
  readonly onChange: (change: AlarmChange) => void
  readonly onNotice: (notice: Notice) => void
}

/** Undefined where the backend keeps no alarms; an app that declares some cannot be opened there. */
export function watchAppAlarms(setup: AlarmWatchSetup & AlarmScope): AlarmWatch | undefined {
  const { app, backend, ports, onChange } = setup
  if (backend.alarms === null || backend.metrics === null) {
    if (app.alarms === undefined || app.alarms.length === 0) return undefined
    const message = `The backend ${backend.capabilities.name} keeps no alarms.`
    throw new MillraceError('unsupported', { message })
  }
  return new AlarmWatch({
    backend,
    timers: ports.timers,
    onChange,
    sources: [appAlarmSource(setup)],
    owner: appAlarmOwner(setup),
    onFailure: serviceFailure('alarm watch', setup),
  })
}

/** The name under which the alarms of an app in a stage are kept. */
export function appAlarmOwner({ app, stage }: Pick<AlarmScope, 'app' | 'stage'>): string {
  return `app ${app.name} ${stage}`
}

/** The owner of alarms that stacks declare. */
export const stackAlarmOwner = 'stacks'

/** An app that joins a stack leaves dead letters to the alarms of the stack: one alarm for each is enough. */
export function appAlarmSource(
  scope: AlarmScope & { readonly backend: Pick<Backend, 'alarms'> },
): AlarmSource {
  const resolved = resolveAlarms(scope)
  return {
    owner: appAlarmOwner(scope),
    // Versions of an app run side by side while it is deployed, as for its schedules.
    abandonedAfterMs,
    names: resolved.map(({ rule }) => rule.name),
    rules: async () => {
      const others = await evaluatedStackRules(scope.backend)
      // Alarms of stacks only write to the log, so they do not replace one that has actions.
      const isLeftToStack = ({ rule, declared }: ResolvedAlarm): boolean =>
        declared === null &&
        rule.targets.length === 0 &&
        others.some(({ name, of }) => name !== rule.name && of === rule.of)
      return resolved.filter((one) => !isLeftToStack(one)).map(({ rule }) => rule)
    },
  }
}

/** After this long without an evaluation, no server is running that could fire alarms. */
const unheardMs = 5 * minuteMs

/** What stacks watch the depth of, as far as a server evaluates it at present. */
async function evaluatedStackRules({
  alarms,
}: Pick<Backend, 'alarms'>): Promise<readonly AlarmRule[]> {
  if (alarms === null) return []
  const since = (await alarms.now()) - unheardMs
  const records = await alarms.alarmStates({ prefix: '', owner: stackAlarmOwner })
  return records
    .filter(({ rule, evaluatedAt }) => rule.metric === 'depth' && (evaluatedAt ?? 0) >= since)
    .map(({ rule }) => rule)
}
