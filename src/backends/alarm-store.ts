/**
 * Alarms: the part of a backend that remembers which there are, in which state they are, and who has
 * to hear of it. A change of state, its place in the history and its notifications are one commit, so
 * that none is lost or made twice.
 */
import type { AlarmRule, AlarmState } from '../core/alarm-rule.ts'
import type { Page } from './stored-message.ts'

export type { AlarmState }

export interface AlarmStore {
  /** The store's clock, by which minutes end. */
  now(): Promise<number>
  /**
   * Makes the alarms of one owner what they are declared to be. New and changed ones begin with
   * INSUFFICIENT_DATA, equal ones stay as they are, and what is not declared any more is forgotten.
   *
   * With `abandonedAfterMs`, versions of one owner may declare different alarms side by side, again and
   * again. What one has declared within that time stays; a rule that was replaced does not come back
   * before nobody has declared its successor for so long.
   */
  declareAlarms(request: DeclareAlarms): Promise<void>
  /** Alarms by name. */
  alarmStates(request: ListAlarms): Promise<readonly AlarmRecord[]>
  /** Undefined when there is no such alarm. */
  readAlarm(request: { readonly alarm: string }): Promise<AlarmRecord | undefined>
  /**
   * Writes down what evaluations came to, each for itself: one that another process was ahead of, or
   * whose alarm was declared anew meanwhile, changes nothing. Answers the changes of state.
   */
  recordEvaluations(request: {
    readonly evaluations: readonly AlarmEvaluation[]
  }): Promise<readonly AlarmTransition[]>
  /** Sets a state by hand, until the next evaluation; undefined when the alarm is in it already. */
  setAlarmState(request: SetAlarmState): Promise<AlarmTransition | undefined>
  /** Forgets alarms whose queue is gone, unless it is there again, or they were declared anew. */
  forgetAlarms(request: {
    readonly alarms: readonly Pick<AlarmRecord, 'alarm' | 'revision'>[]
  }): Promise<void>
  /** Newest first. */
  alarmHistory(request: ListAlarmHistory): Promise<Page<AlarmTransition>>

  /**
   * Leases notifications that wait to be delivered. A target gets those of an alarm in order: a later
   * change is not handed out before the notification of an earlier one is settled for good.
   */
  takeNotifications(request: TakeNotifications): Promise<readonly Notification[]>
  /** Does nothing when the lease has ended and somebody else has the notification. */
  settleNotification(request: SettleNotification): Promise<void>
}

export interface DeclareAlarms {
  /** Who declares them: an app in a stage, a stack. */
  readonly owner: string
  readonly rules: readonly AlarmRule[]
  /** Leaves alarms alone that somebody else has declared under the same name. Default: takes them over. */
  readonly yields?: boolean
  /** Default 0: what is not declared now is forgotten now. */
  readonly abandonedAfterMs?: number
  /** Alarms that the owner has and leaves out at present; they are forgotten now in any case. */
  readonly withdrawn?: readonly string[]
}

export interface ListAlarms {
  /** Names that begin like this; `''` for all. */
  readonly prefix: string
  /** Only those of this owner. */
  readonly owner?: string
}

export interface AlarmRecord {
  readonly alarm: string
  readonly owner: string
  readonly rule: AlarmRule
  /** Rises when the rule changes. */
  readonly revision: number
  readonly state: AlarmState
  readonly reason: string
  /** Since when it has been in this state. */
  readonly since: number
  /**
   * The end of the periods that were looked at last; null before the first time, and again when the
   * rule is another one, unless it rang: then those who heard it have yet to hear how it ended.
   */
  readonly evaluatedAt: number | null
  /** When somebody last declared it by this rule. */
  readonly declaredAt: number
}

export interface AlarmEvaluation {
  readonly alarm: string
  /** As it was read. */
  readonly revision: number
  /** As it was read. */
  readonly from: AlarmState
  readonly to: AlarmState
  readonly reason: string
  /** The end of the periods that were looked at; an earlier evaluation never overwrites a later one. */
  readonly evaluatedAt: number
  /** Who has to hear of it, when the state is another one. */
  readonly notify: readonly NewNotification[]
}

export type SetAlarmState = Omit<AlarmEvaluation, 'evaluatedAt'>

export interface AlarmTransition {
  readonly alarm: string
  readonly from: AlarmState
  readonly to: AlarmState
  readonly reason: string
  readonly at: number
}

export interface ListAlarmHistory {
  /** Default: of all alarms. */
  readonly alarm?: string
  readonly after?: string
  readonly limit: number
}

export interface NewNotification {
  readonly kind: 'webhook' | 'queue'
  /** The URL, or the queue's name. */
  readonly target: string
  /** JSON. */
  readonly body: string
}

export interface Notification extends NewNotification {
  /** Names the notification and this lease of it. */
  readonly id: string
  /** Names the notification itself, whoever delivers it. */
  readonly key: string
  readonly attempt: number
  readonly createdAt: number
}

export interface TakeNotifications {
  readonly limit: number
  /** So long nobody else is given them. */
  readonly leaseMs: number
}

export type SettleNotification =
  | { readonly id: string; readonly outcome: 'delivered' }
  | {
      readonly id: string
      readonly outcome: 'retry'
      readonly delayMs: number
      readonly error: string
    }
  | { readonly id: string; readonly outcome: 'given_up'; readonly error: string }
