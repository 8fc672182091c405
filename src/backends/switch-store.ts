/**
 * Kill switches: the part of a backend that can stop work without stopping workers. A switch is checked at
 * every claim, so it holds in all processes at once.
 */
import type { Page } from './stored-message.ts'

export interface SwitchStore {
  /** Turns a switch on, or changes one that is on. */
  set(request: SetSwitch): Promise<SwitchRecord>
  /** Turns a switch off; false when it was not on. */
  lift(request: LiftSwitch): Promise<boolean>
  /** Switches that are on. */
  list(): Promise<readonly SwitchRecord[]>
  /** Who turned which switch on or off, newest first. */
  history(request: ListSwitchEvents): Promise<Page<SwitchEvent>>
}

/** `name` is a switch that queues and job types declare to obey, such as `LLM_PAUSED`. */
export type SwitchScope = 'queue' | 'type' | 'tier' | 'tenant' | 'name'

export interface SwitchTarget {
  readonly scope: SwitchScope
  /** The queue's name on the backend, the job type, the tier, the tenant, or the switch's name. */
  readonly value: string
}

/** `hold`: the work waits, at no cost. `divert`: it moves to its dead-letter queue. */
export type SwitchMode = 'hold' | 'divert'

export interface SetSwitch extends SwitchTarget {
  readonly mode: SwitchMode
  /** Who did it, for the record. */
  readonly by: string
  readonly note?: string
  /** Turns itself off after this long. */
  readonly forMs?: number
}

export interface LiftSwitch extends SwitchTarget {
  readonly by: string
  readonly note?: string
}

export interface SwitchRecord extends SwitchTarget {
  readonly mode: SwitchMode
  readonly by: string
  readonly note: string | null
  readonly setAt: number
  readonly until: number | null
}

export interface SwitchEvent extends SwitchTarget {
  readonly event: 'set' | 'lifted'
  /** Null when the switch was lifted. */
  readonly mode: SwitchMode | null
  readonly by: string
  readonly note: string | null
  readonly at: number
  readonly until: number | null
}

export interface ListSwitchEvents {
  readonly after?: string
  readonly limit: number
}
