/** Who declares alarms on a store: the app that is open, the stacks that went up, and the server itself. */
import type { Backend } from '../backends/backend.ts'
import {
  type AlarmScope,
  notEmptyName,
  notEmptyRule,
  resolveAlarms,
} from '../contracts/resolve-alarms.ts'
import { limits } from '../core/limits.ts'
import type { AlarmSource } from '../maintenance/alarm-watch.ts'
import { everyPage } from '../operations/every-page.ts'
import { stackAlarmRules } from './stack-alarms.ts'
import type { StackStore } from './stack-store.ts'

/** The name under which the alarms of an app in a stage are kept. */
export function appAlarmOwner({ app, stage }: Pick<AlarmScope, 'app' | 'stage'>): string {
  return `app ${app.name} ${stage}`
}

export function appAlarmSource(scope: AlarmScope): AlarmSource {
  const rules = resolveAlarms(scope).map(({ rule }) => rule)
  return { owner: appAlarmOwner(scope), rules: async () => rules }
}

/** An app that is open knows more about its alarms than the record of it, so it goes first. */
export function stackAlarmSource(stacks: StackStore): AlarmSource {
  return { owner: 'stacks', yields: true, rules: async () => stackAlarmRules(await stacks.list()) }
}

const unwatched = 'unwatched dead letters'

/** One on each queue that takes dead letters, whoever made it, unless somebody watches its depth. */
export function deadLetterSource(backend: Pick<Backend, 'listQueues' | 'alarms'>): AlarmSource {
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

/** Names of queues are short, but what stands before them in the store may not be. */
function nameFor(queue: string): string {
  return notEmptyName(queue).slice(0, limits.alarmNameLength.max)
}
