/** What an app or a server opens: a place where everything is kept, and how to open it. */
import type { ClockChange } from '../core/clock-change.ts'
import type { AttemptLostListener } from '../core/lost-attempt.ts'
import type { Ports } from '../core/ports.ts'
import type { Backend } from './backend.ts'

export interface Store {
  /** Names the place for people, without secrets. */
  readonly place: string
  open(opening: StoreOpening): Promise<Backend>
}

export interface StoreOpening {
  readonly ports: Ports
  /** Creates the store if it does not exist. Otherwise `open` rejects with `store_not_found`. */
  readonly create: boolean
  /** Seals content before it reaches the store. Default: none. */
  readonly sealing?: Sealing
  /** How long calls wait for other processes, and for a server, before they fail. Default: that of the store. */
  readonly busyTimeoutMs?: number
  /** Called when the wall clock jumps, returns, or when the store follows it. */
  readonly onClockChange?: (change: ClockChange) => void
  /** Called when this process notices that an attempt of a job was lost, in whichever process it ran. */
  readonly onAttemptLost?: AttemptLostListener
}

/** How texts that are sealed are read. */
export interface ContentOpening {
  /** The keys that texts can be opened with. */
  readonly keyIds: readonly string[]
  open(text: string): string
}

export interface Sealing extends ContentOpening {
  wrap(backend: Backend): Promise<Backend>
}

export const nothingSealed: ContentOpening = { keyIds: [], open: (text) => text }
