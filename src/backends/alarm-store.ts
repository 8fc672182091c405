/**
 * Alarms: the part of a backend that stores alarms, their states and their notifications. A change of
 * state, its entry in the history and its notifications are one commit, so that none is lost or made
 * twice.
 */
import type { AlarmRule, AlarmState } from '../core/alarm-rule.ts'
import type { Page } from './stored-message.ts'

export type { AlarmState }

export interface AlarmStore {
  /** The store's clock, by which minutes end. */
  now(): Promise<number>
  /**
   * Replaces the alarms of one owner by the declared ones. New and changed ones begin with
   * INSUFFICIENT_DATA, equal ones stay as they are, and others are removed.
   *
   * With `abandonedAfterMs`, versions of one owner may declare different alarms side by side, again and
   * again. An alarm stays for that long after it was last declared. A rule that was replaced returns
   * only after its successor was not declared for that long.
   */
  declareAlarms(request: DeclareAlarms): Promise<void>
  /** Alarms by name. */
  alarmStates(request: ListAlarms): Promise<readonly AlarmRecord[]>
  /** Undefined when the alarm does not exist. */
  readAlarm(request: { readonly alarm: string }): Promise<AlarmRecord | undefined>
  /**
   * Records evaluations, each by itself. One changes nothing if another process recorded a later one,
   * or if the alarm was declared again meanwhile. Returns the changes of state.
   */
  recordEvaluations(request: {
    readonly evaluations: readonly AlarmEvaluation[]
  }): Promise<readonly AlarmTransition[]>
  /** Sets a state by hand, until the next evaluation; undefined when the alarm is in it already. */
  setAlarmState(request: SetAlarmState): Promise<AlarmTransition | undefined>
  /** Removes alarms whose queue was deleted, unless the queue or the alarm was created again. */
  forgetAlarms(request: {
    readonly alarms: readonly Pick<AlarmRecord, 'alarm' | 'revision'>[]
  }): Promise<void>
  /** Newest first. */
  alarmHistory(request: ListAlarmHistory): Promise<Page<AlarmTransition>>

  /**
   * Leases notifications that wait to be delivered. A target gets those of an alarm in order: the
   * notification of a later change waits until that of an earlier one is settled for good.
   */
  takeNotifications(request: TakeNotifications): Promise<readonly Notification[]>
  /** Does nothing when the lease has ended and the notification was leased again. */
  settleNotification(request: SettleNotification): Promise<void>
}

export interface DeclareAlarms {
  /** What declares them: an app in a stage, a stack. */
  readonly owner: string
  readonly rules: readonly AlarmRule[]
  /** Keeps alarms of the same name that another owner has declared. Default: takes them over. */
  readonly yields?: boolean
  /** Default 0: what is not declared now is removed now. */
  readonly abandonedAfterMs?: number
  /** Alarms of the owner that are removed now in any case. */
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
   * The end of the periods that were evaluated last. Null before the first evaluation, and after the
   * rule changed, unless the state was ALARM: its end must still be notified.
   */
  readonly evaluatedAt: number | null
  /** When it was last declared with this rule. */
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
  /** The end of the periods that were evaluated; an earlier evaluation never overwrites a later one. */
  readonly evaluatedAt: number
  /** Notifications to add when the state changes. */
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
  /** Names the notification, the same for every lease of it. */
  readonly key: string
  readonly attempt: number
  readonly createdAt: number
}

export interface TakeNotifications {
  readonly limit: number
  /** How long no other process gets them. */
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
