/**
 * Tiers: which job types a class of service may run, and in which queue. They are plain data. They are
 * checked when a job is enqueued and again before it runs, because other programs may write to the queue too.
 */
import { MillraceError } from '../core/millrace-error.ts'
import type { JobsQueue, JobTypeName } from './jobs-declaration.ts'
import type { DeclaredQueues } from './queue-declaration.ts'

export interface Tier {
  /** The key of the jobs queue that serves the tier. */
  readonly queue: string
  /** The job types that the tier may run. */
  readonly allows: readonly string[]
}

export type Tiers = Readonly<Record<string, Tier>>

/** The tier of jobs that do not name one, by job type. */
export type DefaultTiers = Readonly<Record<string, string>>

/** The names of all job types of an app. */
export type AnyJobType<Queues extends DeclaredQueues> = {
  [Key in keyof Queues]: JobTypeName<Queues[Key]>
}[keyof Queues]

/** The queues of an app that have a job type of this name. */
export type QueuesWith<Queues extends DeclaredQueues, Name extends string> = {
  [Key in keyof Queues]: Queues[Key] extends JobsQueue
    ? Name extends JobTypeName<Queues[Key]>
      ? Queues[Key]
      : never
    : never
}[keyof Queues]

export interface TieredApp {
  readonly tiers?: Tiers
  readonly defaultTier?: DefaultTiers
}

/** A job in a queue, with its tier. */
export interface TieredJob {
  /** The key of the queue. */
  readonly queue: string
  readonly type: string
  readonly tier: string | undefined
}

/**
 * The tier of a job: the one it names, or the one that its queue serves. Throws if that tier does not allow
 * the job type, or is served by another queue.
 */
export function tierFor(app: TieredApp, job: TieredJob): string | undefined {
  if (app.tiers === undefined) return job.tier
  const tier = job.tier ?? servedTier(app, job)
  const message = misplacement(app, { ...job, tier })
  if (message !== undefined) throw new MillraceError('tier_refused', { message })
  return tier
}

/** The reason why a job must not run in its queue; undefined if it may. */
export function misplacement(app: TieredApp, job: TieredJob): string | undefined {
  if (app.tiers === undefined) return undefined
  const tier = job.tier ?? servedTier(app, job)
  if (tier === undefined) return undefined
  return tierRefusal(app, tier, job.type) ?? elsewhere(app.tiers, tier, job.queue)
}

/**
 * The tier that a queue serves; undefined if it serves none. If several tiers share the queue, it is the
 * default tier of the job type, or else the first tier that allows it.
 */
function servedTier(
  { tiers = {}, defaultTier = {} }: TieredApp,
  { queue, type }: TieredJob,
): string | undefined {
  const served = Object.keys(tiers).filter((name) => tiers[name]?.queue === queue)
  const usual = Object.hasOwn(defaultTier, type) ? defaultTier[type] : undefined
  return (
    served.find((name) => name === usual) ??
    served.find((name) => tiers[name]?.allows.includes(type)) ??
    served[0]
  )
}

function elsewhere(tiers: Tiers, tier: string, queue: string): string | undefined {
  const served = tiers[tier]?.queue
  return served === queue
    ? undefined
    : `The tier '${tier}' is served by '${served}', not '${queue}'.`
}

/** The tier of a job enqueued without a queue: the one it names, or the default of its type. */
export function tierByType(app: TieredApp, type: string, tier: string | undefined): TierChoice {
  const defaults = app.defaultTier ?? {}
  const chosen = tier ?? (Object.hasOwn(defaults, type) ? defaults[type] : undefined)
  if (chosen === undefined) {
    const message = `The job type '${String(type).slice(0, 40)}' has no default tier. Pass the option tier.`
    throw new MillraceError('tier_refused', { message })
  }
  const message = tierRefusal(app, chosen, type)
  const queue = app.tiers?.[chosen]?.queue
  if (message !== undefined || queue === undefined) {
    throw new MillraceError('tier_refused', message === undefined ? {} : { message })
  }
  return { tier: chosen, queue }
}

export interface TierChoice {
  readonly tier: string
  /** The key of the queue that serves it. */
  readonly queue: string
}

/** The reason why a tier does not run a job type; undefined if it does. */
function tierRefusal({ tiers = {} }: TieredApp, tier: string, type: string): string | undefined {
  const declared = Object.hasOwn(tiers, tier) ? tiers[tier] : undefined
  if (declared === undefined) return `The app has no tier '${tier.slice(0, 40)}'.`
  if (declared.allows.includes(type)) return undefined
  return `The tier '${tier}' runs ${declared.allows.join(', ')}, but not '${type.slice(0, 40)}'.`
}
