/** Who declares alarms on a store: the app that is open, the stacks that went up, and the server itself. */
import type { Backend } from '../backends/backend.ts'
import {
  type AlarmScope,
  notEmptyName,
  notEmptyRule,
  type ResolvedAlarm,
  resolveAlarms,
} from '../contracts/resolve-alarms.ts'
import type { AlarmRule } from '../core/alarm-rule.ts'
import { limits } from '../core/limits.ts'
import { minuteMs } from '../core/minutes.ts'
import { abandonedAfterMs } from '../flows/ensure-schedules.ts'
import type { AlarmSource } from '../maintenance/alarm-watch.ts'
import { everyPage } from '../operations/every-page.ts'
import { stackAlarmRules } from './stack-alarms.ts'
import type { StackStore } from './stack-store.ts'

/** The name under which the alarms of an app in a stage are kept. */
export function appAlarmOwner({ app, stage }: Pick<AlarmScope, 'app' | 'stage'>): string {
  return `app ${app.name} ${stage}`
}

const stackOwner = 'stacks'

/** An app that joins a stack leaves dead letters to the alarms of the stack: one bell for each is enough. */
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
      // Alarms of stacks tell nobody but the log, so one that tells somebody does not make way for them.
      const isLeftToStack = ({ rule, declared }: ResolvedAlarm): boolean =>
        declared === null &&
        rule.targets.length === 0 &&
        others.some(({ name, of }) => name !== rule.name && of === rule.of)
      return resolved.filter((one) => !isLeftToStack(one)).map(({ rule }) => rule)
    },
  }
}

/** Without an evaluation for so long, no server is there to ring. */
const unheardMs = 5 * minuteMs

/** What stacks watch the depth of, as far as a server evaluates it at present. */
async function evaluatedStackRules({
  alarms,
}: Pick<Backend, 'alarms'>): Promise<readonly AlarmRule[]> {
  if (alarms === null) return []
  const since = (await alarms.now()) - unheardMs
  const records = await alarms.alarmStates({ prefix: '', owner: stackOwner })
  return records
    .filter(({ rule, evaluatedAt }) => rule.metric === 'depth' && (evaluatedAt ?? 0) >= since)
    .map(({ rule }) => rule)
}

/** An app that is open knows more about its alarms than the record of it, so it goes first. */
export function stackAlarmSource(stacks: StackStore): AlarmSource {
  const rules = async (): Promise<readonly AlarmRule[]> => stackAlarmRules(await stacks.list())
  return { owner: stackOwner, yields: true, rules }
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
