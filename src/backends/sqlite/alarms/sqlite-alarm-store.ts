/** The port of alarms and notifications on SQLite. */
import type {
  AlarmEvaluation,
  AlarmRecord,
  AlarmStore,
  AlarmTransition,
  DeclareAlarms,
  ListAlarmHistory,
  ListAlarms,
  Notification,
  SetAlarmState,
  SettleNotification,
  TakeNotifications,
} from '../../alarm-store.ts'
import type { Page } from '../../backend.ts'
import type { Session } from '../driver/session.ts'
import type { Writer } from '../driver/writer.ts'
import { listTransitions } from './alarm-history.ts'
import {
  declareAlarms,
  findAlarm,
  forgetAlarms,
  listAlarms,
  recordEvaluations,
  setAlarmState,
} from './alarm-states.ts'
import { settleNotification, takeNotifications } from './notifications.ts'

type Read = <T>(run: (session: Session, now: number) => T) => Promise<T>

export class SqliteAlarmStore implements AlarmStore {
  readonly #writer: Writer
  readonly #read: Read

  constructor(writer: Writer, read: Read) {
    this.#writer = writer
    this.#read = read
  }

  now(): Promise<number> {
    return this.#read((_session, now) => now)
  }

  declareAlarms(request: DeclareAlarms): Promise<void> {
    return this.#writer.submit((tx) => declareAlarms(tx, request))
  }

  alarmStates(request: ListAlarms): Promise<readonly AlarmRecord[]> {
    return this.#read((session) => listAlarms(session, request))
  }

  readAlarm({ alarm }: { readonly alarm: string }): Promise<AlarmRecord | undefined> {
    return this.#read((session) => findAlarm(session, alarm))
  }

  recordEvaluations({
    evaluations,
  }: {
    readonly evaluations: readonly AlarmEvaluation[]
  }): Promise<readonly AlarmTransition[]> {
    return this.#writer.submit((tx) => recordEvaluations(tx, evaluations))
  }

  setAlarmState(request: SetAlarmState): Promise<AlarmTransition | undefined> {
    return this.#writer.submit((tx) => setAlarmState(tx, request))
  }

  forgetAlarms({
    alarms,
  }: {
    readonly alarms: readonly Pick<AlarmRecord, 'alarm' | 'revision'>[]
  }): Promise<void> {
    return this.#writer.submit((tx) => forgetAlarms(tx, alarms))
  }

  alarmHistory(request: ListAlarmHistory): Promise<Page<AlarmTransition>> {
    return this.#read((session) => listTransitions(session, request))
  }

  takeNotifications(request: TakeNotifications): Promise<readonly Notification[]> {
    return this.#writer.submit((tx) => takeNotifications(tx, request))
  }

  settleNotification(request: SettleNotification): Promise<void> {
    return this.#writer.submit((tx) => settleNotification(tx, request))
  }
}
