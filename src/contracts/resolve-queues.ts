/**
 * Turns an app and a stage into the queues that must exist on the backend. Dead-letter queues are created
 * before the queues that use them. Every setting is written out, defaults too: a setting removed from the
 * declaration then returns to its default on an existing queue.
 */
import { type Duration, durationMs } from '../core/durations.ts'
import { MillraceError } from '../core/millrace-error.ts'
import { defaultQueueSettings, type QueueSettings } from '../core/queue-settings.ts'
import { checkApp } from './check-app.ts'
import type { App } from './define-app.ts'
import { hiddenPathsOf } from './hidden-paths.ts'
import { isJobsQueue } from './jobs-declaration.ts'
import type { DeclaredQueue, OwnDeadLetterQueue } from './queue-declaration.ts'
import { ceilingsOf, historyOf, obeyedSwitchesOf } from './resolve-controls.ts'
import { type NamedQueue, nameQueue, sharedDeadLetter } from './resolve-names.ts'

export interface PlannedQueue {
  readonly queue: string
  readonly settings: PlannedSettings
  readonly tags: Readonly<Record<string, string>>
}

/** The settings that a declaration decides. The redrive allow policy keeps the backend's default. */
export type PlannedSettings = Omit<QueueSettings, 'deadLetterSources' | 'annotations'>

export interface ResolvedQueues {
  /** In creation order. */
  readonly planned: readonly PlannedQueue[]
  /** The declared queues with their names on the backend. */
  readonly queues: readonly NamedQueue[]
}

const deadLetterRetention: Duration = '14d'

export function resolveQueues(app: App, stage: string): ResolvedQueues {
  const violations = checkApp(app, stage)
  if (violations.length > 0) throw MillraceError.invalid(violations, 'invalid_contract')
  const named = new Map<string, NamedQueue>()
  for (const [key, declared] of Object.entries(app.queues)) {
    named.set(key, nameQueue(key, declared, { app: app.name, stage }))
  }
  const planned = new Map<string, PlannedQueue>()
  for (const queue of named.values()) plan(queue, named, planned)
  return { planned: [...planned.values()], queues: [...named.values()] }
}

/** Adds a queue after its dead-letter queue. `check-app.ts` has refused cycles. */
function plan(
  queue: NamedQueue,
  named: ReadonlyMap<string, NamedQueue>,
  into: Map<string, PlannedQueue>,
): void {
  if (into.has(queue.name)) return
  const { type, options } = queue.declared
  const { deadLetter, tags = {} } = options
  const key = sharedDeadLetter(queue.declared)
  const shared = key === undefined ? undefined : named.get(key)
  if (shared !== undefined) plan(shared, named, into)
  const hidden = hiddenIn(queue, named)
  const add = (name: string, settings: PlannedSettings): void =>
    void into.set(name, { queue: name, settings, tags })

  if (queue.ownDeadLetter !== null) {
    const { retention = deadLetterRetention }: Partial<OwnDeadLetterQueue> = { ...deadLetter }
    add(
      queue.ownDeadLetter,
      settingsOf({ type, options: { retention } }, { deadLetter: null, hidden }),
    )
  }
  const target = shared?.name ?? queue.ownDeadLetter
  const redirect =
    target === null || deadLetter === undefined
      ? null
      : { queue: target, maxReceives: receivesOf(queue.declared) }
  add(queue.name, settingsOf(queue.declared, { deadLetter: redirect, hidden }))
}

/** The hidden paths of its own messages, and of the dead letters that it takes. */
function hiddenIn(queue: NamedQueue, named: ReadonlyMap<string, NamedQueue>): readonly string[] {
  // The set grows while it is iterated, so dead letters of dead letters are included.
  const sources = new Set([queue])
  for (const target of sources) {
    for (const other of named.values()) {
      const key = sharedDeadLetter(other.declared)
      if (key !== undefined && named.get(key) === target) sources.add(other)
    }
  }
  return [...new Set([...sources].flatMap(({ declared }) => hiddenPathsOf(declared)))]
}

function settingsOf(
  declared: DeclaredQueue,
  { deadLetter, hidden }: Pick<PlannedSettings, 'deadLetter' | 'hidden'>,
): PlannedSettings {
  const { delay, visibilityTimeout, retention, receiveWait, maxMessageBytes } = declared.options
  const defaults = defaultQueueSettings
  const { deduplication, deduplicationScope } = declared.type === 'fifo' ? declared.options : {}
  return {
    type: declared.type,
    visibilityMs: given(visibilityTimeout, defaults.visibilityMs),
    delayMs: given(delay, defaults.delayMs),
    retentionMs: given(retention, defaults.retentionMs),
    receiveWaitMs: given(receiveWait, defaults.receiveWaitMs),
    messageBytesMax: maxMessageBytes ?? defaults.messageBytesMax,
    deadLetter,
    deduplicateByContent: deduplication === 'content',
    deduplicationScope: deduplicationScope ?? defaults.deduplicationScope,
    ceilings: ceilingsOf(declared),
    obeys: obeyedSwitchesOf(declared),
    history: historyOf(declared),
    hidden,
    jobTypes: isJobsQueue(declared) ? Object.keys(declared.options.types) : [],
  }
}

const defaultReceives = 3

/** The receives before a message is dead-lettered. A job counts its own attempts instead. */
function receivesOf(declared: DeclaredQueue): number {
  const attempts = isJobsQueue(declared) ? declared.options.attempts : undefined
  return declared.options.deadLetter?.after ?? attempts ?? defaultReceives
}

function given(duration: Duration | undefined, defaultMs: number): number {
  return duration === undefined ? defaultMs : durationMs(duration)
}
