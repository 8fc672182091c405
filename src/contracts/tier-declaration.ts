/**
 * Tiers: which job types a class of service may run, and in which queue. They are data, looked at when
 * a job is enqueued and again before it runs, since other programs may write to the queue too.
 */
import { MillraceError } from '../core/millrace-error.ts'
import type { JobsQueue, JobTypeName } from './jobs-declaration.ts'
import type { DeclaredQueues } from './queue-declaration.ts'

export interface Tier {
  /** The key of the queue of jobs that serves the tier. */
  readonly queue: string
  /** The job types that it may run. */
  readonly allows: readonly string[]
}

export type Tiers = Readonly<Record<string, Tier>>

/** By job type: the tier of jobs that do not name one. */
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

/** A job in a queue, and the tier that it names. */
export interface TieredJob {
  /** The key of the queue. */
  readonly queue: string
  readonly type: string
  readonly tier: string | undefined
}

/**
 * The tier of a job that is enqueued: the one it names, or the one that its queue serves. Throws when
 * that tier does not run its type, or runs it in another queue.
 */
export function tierFor(app: TieredApp, job: TieredJob): string | undefined {
  if (app.tiers === undefined) return job.tier
  const tier = job.tier ?? servedTier(app, job)
  const message = misplacement(app, { ...job, tier })
  if (message !== undefined) throw new MillraceError('tier_refused', { message })
  return tier
}

/** Why a job must not run in the queue in which it is; undefined when it may. */
export function misplacement(app: TieredApp, job: TieredJob): string | undefined {
  if (app.tiers === undefined) return undefined
  const tier = job.tier ?? servedTier(app, job)
  if (tier === undefined) return undefined
  return tierRefusal(app, tier, job.type) ?? elsewhere(app.tiers, tier, job.queue)
}

/**
 * The tier that a queue serves, if it serves one. Where several share a queue it is the type's default,
 * or else the first that runs the type.
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

/** The tier of a job that was given to no queue: the one it names, or the default of its type. */
export function tierByType(app: TieredApp, type: string, tier: string | undefined): TierChoice {
  const defaults = app.defaultTier ?? {}
  const chosen = tier ?? (Object.hasOwn(defaults, type) ? defaults[type] : undefined)
  if (chosen === undefined) {
    const message = `Name a tier: '${String(type).slice(0, 40)}' has no default tier.`
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

/** Why a tier does not run a job type; undefined when it does. */
function tierRefusal({ tiers = {} }: TieredApp, tier: string, type: string): string | undefined {
  const declared = Object.hasOwn(tiers, tier) ? tiers[tier] : undefined
  if (declared === undefined) return `There is no tier '${tier.slice(0, 40)}'.`
  if (declared.allows.includes(type)) return undefined
  return `The tier '${tier}' runs ${declared.allows.join(', ')}, and no '${type.slice(0, 40)}'.`
}
