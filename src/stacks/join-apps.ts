/**
 * A template and an app may declare the same queues: the template for AWS, the app with settings that
 * templates do not have. If a template declares all queues of an app, the app joins its stack and adds those
 * settings. For all other settings, the template takes precedence.
 */
import type { QueueSettings } from '../core/queue-settings.ts'
import type { Stack, StackQueue, TemplateProblem } from '../templates/stack.ts'
import { isProgram, type StackSource } from './stack-source.ts'
import { isSameSetting, templateDefaults, templateSettings } from './template-settings.ts'

export function joinApps(sources: readonly StackSource[]): readonly StackSource[] {
  const joined = new Map(sources.map((source) => [source, source]))
  for (const app of sources.filter(({ source }) => isProgram(source))) {
    const host = sources.find((source) => !isProgram(source.source) && holds(source, app))
    if (host === undefined) continue
    joined.set(host, join(joined.get(host) ?? host, app))
    joined.delete(app)
  }
  return [...joined.values()]
}

function holds({ stack }: StackSource, { stack: app }: StackSource): boolean {
  if (stack === null || app === null || app.queues.length === 0) return false
  const names = new Set(stack.queues.map(({ name }) => name))
  return app.queues.every(({ name }) => names.has(name))
}

function join(template: StackSource, app: StackSource): StackSource {
  if (template.stack === null || app.stack === null) return template
  const declared = new Map(app.stack.queues.map((queue) => [queue.name, queue]))
  const problems = [...template.problems, ...app.problems]
  const queues = template.stack.queues.map((queue) => {
    const more = declared.get(queue.name)
    if (more === undefined) return queue
    problems.push(...disagreements(queue, more))
    return joinQueue(queue, more)
  })
  return {
    ...template,
    stack: { ...template.stack, queues, alarms: joinAlarms(template.stack, app.stack) },
    problems,
    files: [...template.files, ...app.files],
    contracts: [...(template.contracts ?? []), ...(app.contracts ?? [])],
  }
}

function joinQueue(template: StackQueue, app: StackQueue): StackQueue {
  const { type: _, ...declared } = app.settings
  const added: Partial<QueueSettings> = Object.fromEntries(
    Object.entries(declared).filter(([key]) => !isTemplateSetting(key)),
  )
  const annotations = { ...added.annotations, ...template.settings.annotations }
  return {
    ...template,
    settings: { ...added, ...template.settings, annotations },
    tags: { ...app.tags, ...template.tags },
  }
}

/** Two alarms on the same metric of a queue count as one. */
function joinAlarms({ alarms }: Stack, app: Stack): Stack['alarms'] {
  const added = app.alarms.filter(
    ({ queue, metric }) => !alarms.some((one) => one.queue === queue && one.metric === metric),
  )
  return [...alarms, ...added]
}

/** Warns of different settings, because opening the app later would change the queue. */
function disagreements(template: StackQueue, app: StackQueue): readonly TemplateProblem[] {
  const wanted = { ...templateDefaults, ...template.settings }
  const others = templateSettings.filter(
    (key) => key in app.settings && !isSameSetting(app.settings[key], wanted[key]),
  )
  return others.map((key) => ({
    severity: 'warning',
    path: template.logicalId,
    message: `The app has another value for ${key} of '${template.name}'; the template's is used.`,
    at: template.at,
  }))
}

function isTemplateSetting(key: string): boolean {
  return templateSettings.some((setting) => setting === key)
}
