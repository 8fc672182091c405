/** An app as a stack, so that apps go up by the same way as templates. */
import type { App } from '../contracts/define-app.ts'
import { kebabCase } from '../contracts/resolve-names.ts'
import { resolveTopology } from '../contracts/resolve-topology.ts'
import type { Place, Stack } from '../templates/stack.ts'

export interface AppStackRequest {
  readonly app: App
  readonly stage: string
  /** The module that declares it. */
  readonly file: string
}

export function appStack({ app, stage, file }: AppStackRequest): Stack {
  const at: Place = { file, line: 1, column: 1 }
  const { planned, queues } = resolveTopology(app, stage)
  const keys = new Map(queues.map(({ name, key }) => [name, key]))
  return {
    name: `${kebabCase(app.name)}-${stage}`,
    queues: planned.map(({ queue, settings, tags }) => ({
      logicalId: keys.get(queue) ?? queue,
      name: queue,
      settings,
      tags,
      at,
    })),
    functions: [],
    eventSources: [],
    alarms: [],
  }
}
