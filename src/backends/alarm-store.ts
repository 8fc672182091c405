/**
 * Alarms: the part of a backend that remembers in which state they are and who has to hear of it. A state
 * is written with the notifications of its change in one commit, so that none is lost or made twice.
 */
import type { Page } from './backend.ts'

export interface AlarmStore {
  /** States of alarms, by name. */
  alarmStates(request: { readonly prefix: string }): Promise<readonly AlarmStateRecord[]>
  /** Writes a state that was worked out; nothing happens when another process was first. */
  changeAlarm(request: ChangeAlarm): Promise<boolean>
  alarmHistory(request: ListAlarmHistory): Promise<Page<AlarmTransition>>
  /** Forgets alarms that nobody declares any more. */
  forgetAlarms(request: {
    readonly prefix: string
    readonly keep: readonly string[]
  }): Promise<number>

  /** Leases notifications that wait to be delivered. */
  takeNotifications(request: TakeNotifications): Promise<readonly Notification[]>
  settleNotification(request: SettleNotification): Promise<void>
}

export type AlarmState = 'OK' | 'ALARM' | 'INSUFFICIENT_DATA'

export interface AlarmStateRecord {
  readonly alarm: string
  readonly state: AlarmState
  readonly reason: string
  /** Since when it has been in this state. */
  readonly since: number
  readonly evaluatedAt: number
}

export interface ChangeAlarm {
  readonly alarm: string
  /** As it was read; undefined when there was none. */
  readonly from: AlarmState | undefined
  readonly to: AlarmState
  readonly reason: string
  /** The end of the periods that were looked at; an earlier evaluation never overwrites a later one. */
  readonly evaluatedAt: number
  /** Who has to hear of it, when the state is another one. */
  readonly notify: readonly NewNotification[]
}

export interface AlarmTransition {
  readonly alarm: string
  readonly from: AlarmState | null
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
  readonly id: string
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
