/** Keeps a store tidy: asks it for one short slice of upkeep every second. */
import type { Backend } from '../backends/backend.ts'
import type { Timers } from '../core/ports.ts'
import { Agent, type AgentFailure } from './agent.ts'

export interface SweeperOptions {
  readonly backend: Pick<Backend, 'sweep'>
  readonly timers: Timers
  /** Pause between two slices. Default 1000. */
  readonly intervalMs?: number
  readonly onFailure?: (failure: AgentFailure) => void
}

export type SweepFailure = AgentFailure

const defaultIntervalMs = 1_000

export class Sweeper extends Agent {
  constructor({ backend, timers, intervalMs = defaultIntervalMs, onFailure }: SweeperOptions) {
    super({ timers, intervalMs, slice: () => backend.sweep(), onFailure })
  }
}
