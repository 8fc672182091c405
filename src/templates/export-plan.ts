/** Plans the export of an app: its queues with logical ids and names. */
import type { App } from '../contracts/define-app.ts'
import type { NamedQueue } from '../contracts/resolve-names.ts'
import { type PlannedQueue, resolveQueues } from '../contracts/resolve-queues.ts'
import { sub, TemplateFunction, type TemplateValue } from './template-text.ts'
import { uniqueName } from './unique-name.ts'

export type ExportFormat = 'cloudformation' | 'sam' | 'serverless'

export interface ExportPlan {
  readonly app: App
  readonly stage: string
  readonly format: ExportFormat
  /** In the order of creation: dead-letter queues first. */
  readonly queues: readonly ExportedQueue[]
  /** Settings that the template cannot express. */
  readonly warnings: string[]
  /** Logical ids that are in use. */
  readonly taken: Set<string>
}

export interface ExportedQueue {
  readonly logicalId: string
  /** The start of other logical ids: `Video` of `VideoQueue`. */
  readonly stem: string
  readonly planned: PlannedQueue
  /** The declared queue; undefined for a generated dead-letter queue. */
  readonly declared: NamedQueue | undefined
}

export function planExport(app: App, stage: string, format: ExportFormat): ExportPlan {
  const { planned, queues } = resolveQueues(app, stage)
  const taken = new Set<string>()
  return {
    app,
    stage,
    format,
    warnings: [],
    taken,
    queues: planned.map((queue) => {
      const declared = queues.find(({ name }) => name === queue.queue)
      const owner = declared ?? queues.find(({ ownDeadLetter }) => ownDeadLetter === queue.queue)
      const stem = stemOf(owner?.key ?? queue.queue) + (declared === undefined ? 'Dlq' : '')
      const logicalId = uniqueName(taken, declared === undefined ? stem : withQueue(stem))
      return { logicalId, stem, planned: queue, declared }
    }),
  }
}

/** Without the ending `Queue`, so that the key `ordersQueue` does not become `OrdersQueueQueue`. */
function stemOf(key: string): string {
  return pascalCase(key).replace(/(?<=.)Queue$/, '')
}

function withQueue(stem: string): string {
  return stem === 'Queue' ? stem : `${stem}Queue`
}

/** `videoJobs` and `video-jobs` become `VideoJobs`. */
export function pascalCase(key: string): string {
  return key
    .split(/[^A-Za-z0-9]+/)
    .map((word) => word.slice(0, 1).toUpperCase() + word.slice(1))
    .join('')
}

/** A name that starts with app and stage uses the stage of the template. */
export function stagedName({ app, stage, format }: ExportPlan, name: string): TemplateValue {
  const start = `${app.name}-${stage}-`
  if (!name.startsWith(start)) return plainText(format, name)
  const rest = name.slice(start.length)
  // A further `${` in the name would be read as a variable.
  if (rest.includes('${')) return plainText(format, name)
  return format === 'serverless'
    ? `${app.name}-\${self:provider.stage}-${rest}`
    : sub(`${app.name}-\${Stage}-${rest}`)
}

/** In serverless.yml, `${` starts a variable, so such a string is joined from two parts. */
export function plainText(format: ExportFormat, text: string): TemplateValue {
  if (format !== 'serverless' || !text.includes('${')) return text
  const [first = '', ...others] = text.split('${')
  const parts = [first, ...others.map((part) => `{${part}`)]
  const pieces = parts.map((part, index) => (index === parts.length - 1 ? part : `${part}$`))
  return new TemplateFunction('Join', ['', pieces])
}
