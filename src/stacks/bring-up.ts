/** Reads templates and apps, plans all of them, and brings them up on a store: all, or none. */
import type { Backend } from '../backends/backend.ts'
import type { Stack, TemplateProblem } from '../templates/stack.ts'
import { applyStack } from './apply-stack.ts'
import { joinApps } from './join-apps.ts'
import { planStack, type StackPlan } from './plan-stack.ts'
import { recordedStack } from './recorded-stack.ts'
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
  /** Of reading and of planning. An error among them: nothing may go up. */
  readonly problems: readonly TemplateProblem[]
  readonly hasErrors: boolean
}

export interface SourcePlan extends StackPlan {
  readonly source: string
}

/** One after the other: a template may import what an earlier one exports. */
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

export async function planUp(request: PlanUpRequest): Promise<PlannedUp> {
  const { sources } = request
  const declaredBeside = sources.flatMap(({ stack }) => stack?.queues.map(({ name }) => name) ?? [])
  const plans = await Promise.all(
    sources.flatMap(({ stack, source }) =>
      stack === null ? [] : [planOne(request, { stack, source, declaredBeside })],
    ),
  )
  const problems = [
    ...sources.flatMap((source) => source.problems),
    ...plans.flatMap((plan) => plan.problems),
    ...sameName(plans),
  ]
  return { plans, problems, hasErrors: problems.some(({ severity }) => severity === 'error') }
}

interface OneStack {
  readonly stack: Stack
  readonly source: string
  readonly declaredBeside: readonly string[]
}

async function planOne(
  { backend }: PlanUpRequest,
  { stack, source, declaredBeside }: OneStack,
): Promise<SourcePlan> {
  const previous = await recordedStack(backend, stack.name)
  const plan = await planStack({ backend, stack, previous, declaredBeside })
  return { ...plan, source }
}

/** Each would take the other's queues for its own that are gone. */
function sameName(plans: readonly SourcePlan[]): readonly TemplateProblem[] {
  const names = plans.map(({ stack }) => stack.name)
  return plans
    .filter(({ stack }, index) => names.indexOf(stack.name) < index)
    .map(({ stack, source }) => ({
      severity: 'error',
      path: '',
      message:
        `There are two stacks of the name '${stack.name}'.` +
        (plans.some((plan) => isProgram(plan.source))
          ? ' An app joins a template that has all of its queues.'
          : ''),
      at: { file: source, line: 1, column: 1 },
    }))
}

export async function bringUp(
  backend: Backend,
  { plans }: PlannedUp,
  { prune = false }: { readonly prune?: boolean } = {},
): Promise<void> {
  for (const plan of plans) {
    await applyStack({ backend, plan, source: plan.source, prune })
  }
}
