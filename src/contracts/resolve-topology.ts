/**
 * From an app and a stage to the queues that must exist on the backend, dead-letter queues before
 * the queues that need them. Every declared setting is spelled out, defaults too, so that a setting
 * taken out of the declaration goes back to its default on an existing queue.
 */
import { type Duration, durationMs } from '../core/durations.ts'
import { limits } from '../core/limits.ts'
import { MillraceError } from '../core/millrace-error.ts'
import { checkApp } from './check-app.ts'
import type { App } from './define-app.ts'
import type { DeclaredQueue, OwnDeadLetterQueue } from './queue-declaration.ts'
import { type NamedQueue, nameQueue, sharedDeadLetter } from './resolve-names.ts'

export interface PlannedQueue {
  readonly queue: string
  readonly settings: PlannedSettings
  readonly tags: Readonly<Record<string, string>>
}

export interface PlannedSettings {
  readonly type: 'standard' | 'fifo'
  readonly visibilityMs: number
  readonly delayMs: number
  readonly retentionMs: number
  readonly receiveWaitMs: number
  readonly messageBytesMax: number
  readonly deadLetter: { readonly queue: string; readonly maxReceives: number } | null
  readonly deduplicateByContent: boolean
  readonly deduplicationScope: 'queue' | 'group'
}

export interface Topology {
  /** In the order in which they can be created. */
  readonly planned: readonly PlannedQueue[]
  /** The declared queues with their names on the backend. */
  readonly queues: readonly NamedQueue[]
}

const defaults = {
  delay: '0s',
  visibilityTimeout: '30s',
  retention: '4d',
  receiveWait: '0s',
} as const satisfies Readonly<Record<string, Duration>>

const deadLetterRetention: Duration = '14d'

export function resolveTopology(app: App, stage: string): Topology {
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

/** Adds a queue after its dead-letter queue; the check has made sure that there are no circles. */
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
  const add = (name: string, settings: PlannedSettings): void =>
    void into.set(name, { queue: name, settings, tags })

  if (queue.ownDeadLetter !== null) {
    const { retention = deadLetterRetention }: Partial<OwnDeadLetterQueue> = { ...deadLetter }
    add(queue.ownDeadLetter, settingsOf({ type, options: { retention } }, null))
  }
  const target = shared?.name ?? queue.ownDeadLetter
  const redirect =
    target === null || deadLetter === undefined
      ? null
      : { queue: target, maxReceives: deadLetter.after }
  add(queue.name, settingsOf(queue.declared, redirect))
}

function settingsOf(
  declared: DeclaredQueue,
  deadLetter: PlannedSettings['deadLetter'],
): PlannedSettings {
  const { delay, visibilityTimeout, retention, receiveWait, maxMessageBytes } = declared.options
  const { deduplication, deduplicationScope } = declared.type === 'fifo' ? declared.options : {}
  return {
    type: declared.type,
    visibilityMs: durationMs(visibilityTimeout ?? defaults.visibilityTimeout),
    delayMs: durationMs(delay ?? defaults.delay),
    retentionMs: durationMs(retention ?? defaults.retention),
    receiveWaitMs: durationMs(receiveWait ?? defaults.receiveWait),
    messageBytesMax: maxMessageBytes ?? limits.messageBytesMax.max,
    deadLetter,
    deduplicateByContent: deduplication === 'content',
    deduplicationScope: deduplicationScope ?? 'queue',
  }
}
