/**
 * Plans how to apply a stack to a store: which queues to create, change or keep, and which were removed from
 * the stack. Changes nothing, so that all mistakes are found first.
 */
import type { Backend, QueueRecord } from '../backends/backend.ts'
import { MillraceError } from '../core/millrace-error.ts'
import type { QueueSettings } from '../core/queue-settings.ts'
import type { Stack, StackQueue, TemplateProblem } from '../templates/stack.ts'
import type { RecordedStack } from './recorded-stack.ts'
import { isSameSetting, templateDefaults } from './template-settings.ts'

export interface StackPlan {
  readonly stack: Stack
  /** In the order of the stack. */
  readonly steps: readonly QueueStep[]
  /** Existing queues of earlier versions that are no longer in the stack. */
  readonly gone: readonly string[]
  /** Why the stack cannot be applied. */
  readonly problems: readonly TemplateProblem[]
}

export interface QueueStep {
  readonly queue: string
  readonly action: 'create' | 'change' | 'keep'
  /** For an existing queue: only the changed settings. */
  readonly settings: Partial<QueueSettings>
  readonly tags: Readonly<Record<string, string>>
  /** Tags of the previous version that are no longer in the stack. */
  readonly removedTags: readonly string[]
}

export interface PlanRequest {
  readonly backend: Pick<Backend, 'readQueue'>
  readonly stack: Stack
  /** The previously applied version. */
  readonly previous: RecordedStack | undefined
  /** Names of queues in other stacks that are applied together. */
  readonly declaredBeside?: readonly string[]
}

export async function planStack(request: PlanRequest): Promise<StackPlan> {
  const { backend, stack, previous, declaredBeside = [] } = request
  const before = new Map(previous?.queues.map((queue) => [queue.name, queue]))
  const owned = [...before.keys(), ...(previous?.retired ?? [])]
  const declared = new Set(stack.queues.map(({ name }) => name))
  const named = new Set([
    ...declared,
    ...owned,
    ...stack.queues.flatMap(({ settings }) => settings.deadLetter?.queue ?? []),
    ...stack.eventSources.map(({ queue }) => queue),
  ])
  const existing = await readQueues(backend, [...named])
  const exists = (name: string): boolean =>
    declared.has(name) || existing.has(name) || declaredBeside.includes(name)
  return {
    stack,
    steps: stack.queues.map((queue) =>
      stepOf(queue, existing.get(queue.name), before.get(queue.name)),
    ),
    gone: owned.filter((name) => !declared.has(name) && existing.has(name)),
    problems: [
      ...stack.queues.flatMap((queue) => missingTarget(queue, exists)),
      ...missingSources(stack, exists),
    ],
  }
}

async function readQueues(
  backend: Pick<Backend, 'readQueue'>,
  names: readonly string[],
): Promise<ReadonlyMap<string, QueueRecord>> {
  const found = await Promise.all(
    names.map((queue) =>
      backend.readQueue({ queue }).catch((error: unknown) => {
        if (error instanceof MillraceError && error.code === 'queue_not_found') return undefined
        throw error
      }),
    ),
  )
  return new Map(found.flatMap((queue) => (queue === undefined ? [] : [[queue.name, queue]])))
}

function stepOf(
  queue: StackQueue,
  existing: QueueRecord | undefined,
  before: StackQueue | undefined,
): QueueStep {
  const removedTags = Object.keys(before?.tags ?? {}).filter((key) => !(key in queue.tags))
  const { name, tags } = queue
  if (existing === undefined) {
    return { queue: name, action: 'create', settings: queue.settings, tags, removedTags: [] }
  }
  const settings = changesOf(wantedOf(queue, existing, before), existing)
  const newTags = Object.entries(tags).filter(([key, value]) => existing.tags[key] !== value)
  const oldTags = removedTags.filter((key) => key in existing.tags)
  const isSame = Object.keys(settings).length + newTags.length + oldTags.length === 0
  return {
    queue: name,
    action: isSame ? 'keep' : 'change',
    settings,
    tags: Object.fromEntries(newTags),
    removedTags: oldTags,
  }
}

/** Settings that the template omits get the defaults of a new queue. */
function wantedOf(
  queue: StackQueue,
  existing: QueueRecord,
  before: StackQueue | undefined,
): Partial<QueueSettings> {
  const { type: _, ...settings } = queue.settings
  const droppedNotes = Object.keys(before?.settings.annotations ?? {})
  const keptNotes = Object.entries(existing.settings.annotations).filter(
    ([key]) => !droppedNotes.includes(key),
  )
  const annotations = { ...Object.fromEntries(keptNotes), ...settings.annotations }
  return { ...templateDefaults, ...settings, annotations }
}

function changesOf(
  wanted: Partial<QueueSettings>,
  { settings }: QueueRecord,
): Partial<QueueSettings> {
  const has: Readonly<Record<string, unknown>> = { ...settings }
  return Object.fromEntries(
    Object.entries(wanted).filter(([key, value]) => !isSameSetting(value, has[key])),
  )
}

function missingTarget(
  { name, settings, logicalId, at }: StackQueue,
  exists: (name: string) => boolean,
): readonly TemplateProblem[] {
  const target = settings.deadLetter?.queue
  if (target === undefined || exists(target)) return []
  const message = `The dead-letter queue '${target}' of '${name}' is not declared and does not exist.`
  return [{ severity: 'error', path: logicalId, message, at }]
}

function missingSources(
  { eventSources }: Stack,
  exists: (name: string) => boolean,
): readonly TemplateProblem[] {
  return eventSources
    .filter(({ queue }) => !exists(queue))
    .map(({ queue, function: fed, logicalId, at }) => {
      const message = `The queue '${queue}' of the function '${fed}' is not declared and does not exist.`
      return { severity: 'error', path: logicalId, message, at }
    })
}
