/** The names of an app's queues on the backend. */
import { isFifoName } from '../core/check-queue.ts'
import type { DeclaredQueue } from './queue-declaration.ts'

export const defaultStage = 'dev'

const fifoSuffix = '.fifo'

export interface NamedQueue {
  readonly key: string
  readonly name: string
  readonly declared: DeclaredQueue
  /** The name of the dead-letter queue that belongs to this queue alone. */
  readonly ownDeadLetter: string | null
}

export interface NameScope {
  readonly app: string
  readonly stage: string
}

export function nameQueue(key: string, declared: DeclaredQueue, scope: NameScope): NamedQueue {
  const { name: fixed, deadLetter } = declared.options
  const stem = withoutSuffix(fixed ?? scopedName(key, scope), declared)
  const suffix = declared.type === 'fifo' ? fifoSuffix : ''
  const named = { key, declared, name: `${stem}${suffix}` }
  if (deadLetter === undefined || sharedDeadLetter(declared) !== undefined) {
    return { ...named, ownDeadLetter: null }
  }
  const ownName = 'name' in deadLetter ? deadLetter.name : undefined
  const ownStem = withoutSuffix(ownName ?? `${stem}-dlq`, declared)
  return { ...named, ownDeadLetter: `${ownStem}${suffix}` }
}

/** The name in the store of a value that an app sets, unique per app and stage. */
export function valueName(name: string, { app, stage }: NameScope): string {
  return `${app}-${stage}-${name}`
}

/** The key of the declared queue that takes the dead letters; undefined if the queue has its own. */
export function sharedDeadLetter({ options: { deadLetter } }: DeclaredQueue): string | undefined {
  // `check-app.ts` calls this before it knows that the declaration is well-formed.
  const target: unknown = Object(deadLetter).queue
  return typeof target === 'string' ? target : undefined
}

/** The name of a declared part in a store that several apps and stages share. */
export function scopedName(key: string, { app, stage }: NameScope): string {
  return `${app}-${stage}-${kebabCase(key)}`
}

/**
 * The environment variable with the URL of a queue: `VIDEO_JOBS_QUEUE_URL` for `videoJobs`. A key that ends
 * in `Queue` does not repeat the word.
 */
export function queueUrlVariable(key: string): string {
  const words = kebabCase(key)
    .replaceAll(/[^a-z0-9]+/g, '_')
    .toUpperCase()
  return `${words.replace(/(?<=.)_QUEUE$/, '')}_QUEUE_URL`
}

/** `videoJobs` and `VideoJobs` become `video-jobs`; `LLMQueue` becomes `llm-queue`. */
export function kebabCase(key: string): string {
  return key
    .replace(/([a-z0-9])([A-Z])/g, '$1-$2')
    .replace(/([A-Z])([A-Z][a-z])/g, '$1-$2')
    .toLowerCase()
}

/** A FIFO name may be given with or without its suffix. On a standard queue the suffix is a mistake. */
function withoutSuffix(name: string, declared: DeclaredQueue): string {
  return declared.type === 'fifo' && isFifoName(name) ? name.slice(0, -fifoSuffix.length) : name
}
