/**
 * An app is one typed value: its name and its queues. Everything else (queues on the backend,
 * validation, the types of senders and receivers) is derived from it.
 */
import { MillraceError } from '../core/millrace-error.ts'
import type { Alarm } from './alarm-declaration.ts'
import type { Budgets } from './budget-declaration.ts'
import { checkApp } from './check-app.ts'
import type { DeclaredQueue } from './queue-declaration.ts'
import type { DefaultTiers, Tiers } from './tier-declaration.ts'

export type DeclaredQueues = Readonly<Record<string, DeclaredQueue>>

export interface AppDeclaration<Queues extends DeclaredQueues = DeclaredQueues> {
  readonly queues: Queues
  /** The stage when neither `open` nor its environment names one. Default `'dev'`. */
  readonly stage?: string
  /** Which job types a class of service may run, and in which queue. */
  readonly tiers?: Tiers
  /** By job type: the tier of jobs that do not name one. */
  readonly defaultTier?: DefaultTiers
  /** What handlers may spend before a kill switch turns itself on. */
  readonly budgets?: Budgets
  /** Conditions that somebody should hear of. */
  readonly alarms?: readonly Alarm[]
}

export interface App<Queues extends DeclaredQueues = DeclaredQueues>
  extends AppDeclaration<Queues> {
  readonly name: string
}

/** Declares an app, or throws one `invalid_contract` error that names everything wrong with it. */
export function defineApp<const Queues extends DeclaredQueues>(
  name: string,
  declaration: AppDeclaration<Queues>,
): App<Queues> {
  const app = { ...declaration, name }
  const violations = checkApp(app)
  if (violations.length > 0) throw MillraceError.invalid(violations, 'invalid_contract')
  return Object.freeze({ ...app, queues: Object.freeze({ ...declaration.queues }) })
}
