/** The alarms that a server evaluates: those of stacks, and default alarms on dead-letter queues. */
import { type AlarmWatchSetup, stackAlarmOwner } from '../app/app-alarms.ts'
import { serviceFailure } from '../app/notice.ts'
import type { Backend } from '../backends/backend.ts'
import { notEmptyName, notEmptyRule } from '../contracts/resolve-alarms.ts'
import type { AlarmRule } from '../core/alarm-rule.ts'
import { limits } from '../core/limits.ts'
import { minuteMs } from '../core/minutes.ts'
import { type AlarmSource, AlarmWatch } from '../maintenance/alarms/alarm-watch.ts'
import { everyPage } from '../operations/every-page.ts'
import { recordedStacks } from '../stacks/recorded-stack.ts'
import { stackAlarmRules } from '../stacks/stack-alarms.ts'

/** Watches all alarms of a store, including those of apps that are not open in any process. */
export async function watchStoreAlarms(setup: AlarmWatchSetup): Promise<AlarmWatch | undefined> {
  const { backend, ports, onChange } = setup
  const onFailure = serviceFailure('alarm watch', setup)
  if (backend.alarms === null || backend.metrics === null) return undefined
  const watch = new AlarmWatch({
    backend,
    timers: ports.timers,
    onChange,
    sources: [stackAlarmSource(backend), deadLetterSource(backend)],
    onFailure,
  })
  // Declares the alarms now, so that requests in the first minute find them.
  await watch.declare().catch((error: unknown) => {
    onFailure({ error, failures: 1, retryInMs: minuteMs })
  })
  watch.start()
  return watch
}

/** Yields to open apps, which know more about their alarms than the recorded stack. */
function stackAlarmSource(backend: Pick<Backend, 'stacks'>): AlarmSource {
  const rules = async (): Promise<readonly AlarmRule[]> =>
    stackAlarmRules(await recordedStacks(backend))
  return { owner: stackAlarmOwner, yields: true, rules }
}

const unwatched = 'unwatched dead letters'

/** One alarm per dead-letter queue, declared or not, unless another alarm watches its depth. */
function deadLetterSource(backend: Pick<Backend, 'listQueues' | 'alarms'>): AlarmSource {
  return {
    owner: unwatched,
    yields: true,
    rules: async () => {
      const queues = await everyPage((page) => backend.listQueues(page))
      const alarms = (await backend.alarms?.alarmStates({ prefix: '' })) ?? []
      const watched = new Set(
        alarms
          .filter(({ owner, rule }) => owner !== unwatched && rule.metric === 'depth')
          .map(({ rule }) => rule.of),
      )
      const targets = new Set(queues.flatMap(({ settings }) => settings.deadLetter?.queue ?? []))
      return [...targets]
        .filter((queue) => !watched.has(queue))
        .map((queue) => notEmptyRule(queue, { name: nameFor(queue) }))
    },
  }
}

/** Queue names are short, but their prefix in the store may be long. */
function nameFor(queue: string): string {
  return notEmptyName(queue).slice(0, limits.alarmNameLength.max)
}
