/** The agents that work in the background of an open app, beside the sweeper; one line for each. */
import type { Backend } from '../backends/backend.ts'
import type { App } from '../contracts/define-app.ts'
import type { Topology } from '../contracts/resolve-topology.ts'
import type { Ports } from '../core/ports.ts'
import type { Agent } from '../maintenance/agent.ts'
import type { Logger } from '../observability/logger.ts'

export interface BackgroundSetup {
  readonly app: App
  readonly stage: string
  readonly topology: Topology
  readonly backend: Backend
  readonly ports: Ports
  readonly log: Logger
  /** Told when the work of an agent failed and is tried again. */
  readonly onFailure: (agent: string, error: unknown, retryInMs: number | null) => void
}

export interface Background {
  stop(): Promise<void>
}

export function startBackground(setup: BackgroundSetup): Background {
  const agents = agentsOf(setup)
  for (const agent of agents) agent.start()
  return {
    async stop() {
      await Promise.all(agents.map((agent) => agent.stop()))
    },
  }
}

function agentsOf(_setup: BackgroundSetup): readonly Agent[] {
  return []
}
