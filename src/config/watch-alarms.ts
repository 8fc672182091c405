/** The agents that evaluate alarms: one for an open app, and one for a server, which watches them all. */
import type { Backend } from '../backends/backend.ts'
import type { AlarmScope } from '../contracts/resolve-alarms.ts'
import { MillraceError } from '../core/millrace-error.ts'
import { minuteMs } from '../core/minutes.ts'
import type { Ports } from '../core/ports.ts'
import type { AgentFailure } from '../maintenance/agent.ts'
import type { AlarmChange } from '../maintenance/alarm-change.ts'
import { AlarmWatch } from '../maintenance/alarm-watch.ts'
import {
  appAlarmOwner,
  appAlarmSource,
  deadLetterSource,
  stackAlarmSource,
} from './alarm-sources.ts'
import type { DataDirectory } from './data-directory.ts'
import type { Notice } from './notice.ts'
import { stackStoreAt } from './stack-store.ts'

export interface AlarmWatchSetup {
  readonly backend: Backend
  readonly ports: Ports
  /** Told of changes of states. */
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
    onFailure: failureOf(setup),
  })
}

/**
 * Watches all alarms of a store, also of apps that are not open anywhere at the moment. What it
 * answers ends that.
 */
export async function keepAlarms(
  setup: AlarmWatchSetup & { readonly data: DataDirectory },
): Promise<() => Promise<void>> {
  const { backend, ports, onChange, data } = setup
  const onFailure = failureOf(setup)
  if (backend.alarms === null || backend.metrics === null) return async () => undefined
  const watch = new AlarmWatch({
    backend,
    timers: ports.timers,
    onChange,
    sources: [stackAlarmSource(stackStoreAt(data, ports)), deadLetterSource(backend)],
    onFailure,
  })
  // Those who ask before the first minute is over find the alarms already.
  await watch.declare().catch((error: unknown) => {
    onFailure({ error, failures: 1, retryInMs: minuteMs })
  })
  watch.start()
  return () => watch.stop()
}

function failureOf({
  onNotice,
}: Pick<AlarmWatchSetup, 'onNotice'>): (failure: AgentFailure) => void {
  return ({ error, retryInMs }) =>
    onNotice({ kind: 'agent_failed', agent: 'alarm watch', error, retryInMs })
}
