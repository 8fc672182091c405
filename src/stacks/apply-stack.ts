/** Brings a planned stack up: its queues, then the record of it. */
import type { Backend } from '../backends/backend.ts'
import type { QueueStep, StackPlan } from './plan-stack.ts'
import { recordStack } from './recorded-stack.ts'

export interface ApplyRequest {
  readonly backend: Pick<
    Backend,
    'createQueue' | 'changeQueue' | 'tagQueue' | 'deleteQueue' | 'stacks'
  >
  readonly plan: StackPlan
  /** The template or module that it was read from. */
  readonly source: string
  /** Deletes the queues that are gone from the stack. Default: they stay. */
  readonly prune?: boolean
}

export async function applyStack(request: ApplyRequest): Promise<void> {
  const { backend, plan, source, prune = false } = request
  // Queues that do not need each other are made together, so that they share a commit.
  for (const steps of byDepth(plan)) {
    await Promise.all(steps.map((step) => applyStep(backend, step)))
  }
  if (prune) {
    for (const queue of plan.gone) await backend.deleteQueue({ queue })
  }
  await recordStack(backend, plan.stack, { source, retired: prune ? [] : plan.gone })
}

async function applyStep(backend: ApplyRequest['backend'], step: QueueStep): Promise<void> {
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

/** Dead-letter queues before the queues that name them. */
function byDepth({ steps }: StackPlan): readonly (readonly QueueStep[])[] {
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
