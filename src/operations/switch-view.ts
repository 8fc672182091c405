/** Kill switches and their history as all surfaces show them. Field names are API. */
import type { SwitchEvent, SwitchRecord } from '../backends/switch-store.ts'
import { isoTime } from '../core/iso-time.ts'
import type { ActiveSwitch } from './switches.ts'

export interface SwitchView extends Pick<SwitchRecord, 'scope' | 'value' | 'mode' | 'by' | 'note'> {
  /** Null for a switch of the environment, which has no known start. */
  readonly set_at: string | null
  /** When the switch ends by itself; null if never. */
  readonly until: string | null
  readonly source: ActiveSwitch['source']
}

export interface SwitchEventView
  extends Pick<SwitchEvent, 'event' | 'scope' | 'value' | 'mode' | 'by' | 'note'> {
  readonly at: string
  readonly until: string | null
}

export function switchView(shown: SwitchRecord & Partial<ActiveSwitch>): SwitchView {
  const { scope, value, mode, by, note, setAt, until, source = 'store' } = shown
  const set_at = source === 'store' ? isoTime(setAt) : null
  return { scope, value, mode, by, note, set_at, until: isoTime(until), source }
}

export function switchEventView(shown: SwitchEvent): SwitchEventView {
  const { event, scope, value, mode, by, note, at, until } = shown
  return { event, scope, value, mode, by, note, at: isoTime(at), until: isoTime(until) }
}
