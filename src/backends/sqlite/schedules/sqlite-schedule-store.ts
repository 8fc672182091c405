/** The port of schedules on SQLite. */
import type {
  DueSchedules,
  EnsureSchedule,
  PauseSchedule,
  RenewSchedules,
  ResumeSchedule,
  RunNow,
  ScheduleName,
  ScheduleRecord,
  ScheduleScope,
  ScheduleStore,
  Tick,
  TickResult,
} from '../../schedule-store.ts'
import type { Session } from '../driver/session.ts'
import type { Writer } from '../driver/writer.ts'
import {
  dueSchedules,
  ensureSchedule,
  findSchedule,
  listSchedules,
  pauseSchedule,
  renewSchedules,
  resumeSchedule,
  runScheduleNow,
  tickSchedule,
} from './schedules.ts'

type Read = <T>(run: (session: Session, now: number) => T) => Promise<T>

export class SqliteScheduleStore implements ScheduleStore {
  readonly #writer: Writer
  readonly #read: Read

  constructor(writer: Writer, read: Read) {
    this.#writer = writer
    this.#read = read
  }

  now(): Promise<number> {
    return this.#read(({ clock }) => clock.wallMs)
  }

  ensure(request: EnsureSchedule): Promise<ScheduleRecord> {
    return this.#writer.submit((tx) => ensureSchedule(tx, request))
  }

  due(request: ScheduleScope): Promise<DueSchedules> {
    return this.#read((session) => dueSchedules(session, request))
  }

  tick(request: Tick): Promise<TickResult> {
    return this.#writer.add((tx) => tickSchedule(tx, request))
  }

  runNow(request: RunNow): Promise<TickResult> {
    return this.#writer.add((tx) => runScheduleNow(tx, request))
  }

  pause(request: PauseSchedule): Promise<ScheduleRecord | undefined> {
    return this.#writer.submit((tx) => pauseSchedule(tx, request))
  }

  resume(request: ResumeSchedule): Promise<ScheduleRecord | undefined> {
    return this.#writer.submit((tx) => resumeSchedule(tx, request))
  }

  read(request: ScheduleName): Promise<ScheduleRecord | undefined> {
    return this.#read((session) => findSchedule(session, request))
  }

  list(request: Partial<ScheduleScope>): Promise<readonly ScheduleRecord[]> {
    return this.#read((session) => listSchedules(session, request))
  }

  renew(request: RenewSchedules): Promise<readonly string[]> {
    return this.#writer.submit((tx) => renewSchedules(tx, request))
  }
}
