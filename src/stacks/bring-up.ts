/** Reads and plans templates and apps, and applies them to a store: all or none. */
import type { Backend } from '../backends/backend.ts'
import type { TemplateProblem } from '../templates/stack.ts'
import { joinApps } from './join-apps.ts'
import { planStack, type QueueStep, type StackPlan } from './plan-stack.ts'
import { recordedStack, recordStack } from './recorded-stack.ts'
import {
  isProgram,
  readStackSource,
  type StackSource,
  type StackSourceOptions,
} from './stack-source.ts'

export interface PlanUpRequest {
  readonly backend: Pick<Backend, 'readQueue' | 'stacks'>
  readonly sources: readonly StackSource[]
}

export interface PlannedUp {
  readonly plans: readonly SourcePlan[]
  /** Problems of reading and planning. If one is an error, nothing may be applied. */
  readonly problems: readonly TemplateProblem[]
  readonly hasErrors: boolean
}

export interface SourcePlan extends StackPlan {
  readonly source: string
}

/** In order, because a template may import values that an earlier one exports. */
export async function readSources(
  paths: readonly string[],
  options: StackSourceOptions,
  version?: number,
): Promise<readonly StackSource[]> {
  const sources: StackSource[] = []
  let imports = options.imports ?? {}
  for (const path of paths) {
    const source = await readStackSource(path, { ...options, imports }, version)
    sources.push(source)
    imports = { ...imports, ...source.exports }
  }
  return joinApps(sources)
}

export async function planUp({ backend, sources }: PlanUpRequest): Promise<PlannedUp> {
  const declaredBeside = sources.flatMap(({ stack }) => stack?.queues.map(({ name }) => name) ?? [])
  const plans: SourcePlan[] = []
  for (const { stack, source } of sources) {
    if (stack === null) continue
    const previous = await recordedStack(backend, stack.name)
    plans.push({ ...(await planStack({ backend, stack, previous, declaredBeside })), source })
  }
  const problems = [
    ...sources.flatMap((source) => source.problems),
    ...plans.flatMap((plan) => plan.problems),
    ...sameName(plans),
  ]
  return { plans, problems, hasErrors: problems.some(({ severity }) => severity === 'error') }
}

/** Two stacks with one name would each treat the queues of the other as removed. */
function sameName(plans: readonly SourcePlan[]): readonly TemplateProblem[] {
  const names = plans.map(({ stack }) => stack.name)
  return plans
    .filter(({ stack }, index) => names.indexOf(stack.name) < index)
    .map(({ stack, source }) => ({
      severity: 'error',
      path: '',
      message:
        `Two stacks have the name '${stack.name}'.` +
        (plans.some((plan) => isProgram(plan.source))
          ? ' To combine an app with a template, declare all queues of the app in the template.'
          : ''),
      at: { file: source, line: 1, column: 1 },
    }))
}

/** Queues first, then the record of the stack. */
export async function bringUp(
  backend: Backend,
  { plans }: PlannedUp,
  { prune = false }: { readonly prune?: boolean } = {},
): Promise<void> {
  for (const { stack, steps, gone, source } of plans) {
    // Independent queues are created together, so that they share a commit.
    for (const level of byDepth(steps)) {
      await Promise.all(level.map((step) => applyStep(backend, step)))
    }
    if (prune) {
      for (const queue of gone) await backend.deleteQueue({ queue })
    }
    await recordStack(backend, stack, { source, retired: prune ? [] : gone })
  }
}

async function applyStep(backend: Backend, step: QueueStep): Promise<void> {
  const { queue, action, settings, tags, removedTags } = step
  if (action === 'keep') return
  if (action === 'create') {
    await backend.createQueue({ queue, settings, tags })
    return
  }
  if (Object.keys(settings).length > 0) await backend.changeQueue({ queue, changes: settings })
  if (Object.keys(tags).length + removedTags.length > 0) {
    await backend.tagQueue({ queue, set: tags, remove: removedTags })
  }
}

/** Dead-letter queues before the queues that use them. */
function byDepth(steps: readonly QueueStep[]): readonly (readonly QueueStep[])[] {
  const depths = new Map<string, number>()
  const levels: QueueStep[][] = []
  for (const step of steps) {
    const target = step.settings.deadLetter?.queue
    const depth = target === undefined ? 0 : (depths.get(target) ?? -1) + 1
    depths.set(step.queue, depth)
    levels[depth] = [...(levels[depth] ?? []), step]
  }
  return levels
}
