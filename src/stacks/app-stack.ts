/** Converts an app to a stack, so that apps are applied like templates. */

import type { QueueContract } from '../contracts/contract-of.ts'
import type { App } from '../contracts/define-app.ts'
import { kebabCase } from '../contracts/resolve-names.ts'
import { resolveQueues } from '../contracts/resolve-queues.ts'
import { appAlarms } from '../templates/app-alarms.ts'
import { planExport } from '../templates/export-plan.ts'
import type { Place, ReadTemplate, TemplateProblem } from '../templates/stack.ts'

export interface AppStackRequest {
  readonly app: App
  readonly stage: string
  /** The module that declares the app. */
  readonly file: string
}

export interface AppStack extends ReadTemplate {
  readonly contracts: readonly QueueContract[]
}

export function appStack({ app, stage, file }: AppStackRequest): AppStack {
  const at: Place = { file, line: 1, column: 1 }
  const { planned, queues } = resolveQueues(app, stage)
  const keys = new Map(queues.map(({ name, key }) => [name, key]))
  const plan = planExport(app, stage, 'cloudformation')
  // A server adds the default alarms for all dead-letter queues of the store.
  const alarms = appAlarms(plan)
    .filter(({ isDefault }) => !isDefault)
    .map(({ watched, isDefault: _, ...alarm }) => ({
      ...alarm,
      queue: watched.planned.queue,
      at,
    }))
  const stack = {
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
    routes: [],
    alarms,
  }
  const problems = plan.warnings.map(
    (message): TemplateProblem => ({ severity: 'warning', path: 'alarms', message, at }),
  )
  const contracts = queues.map(({ key, name, declared }) => ({ key, name, declared, app }))
  return { stack, problems, exports: {}, files: [file], contracts }
}
