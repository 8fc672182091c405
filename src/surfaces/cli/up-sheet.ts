/** The result of `up`, or its plan with `--dry-run`, as text and as JSON. */

import { counted } from '../../core/counted.ts'
import type { SourcePlan } from '../../stacks/bring-up.ts'
import type { QueueStep } from '../../stacks/plan-stack.ts'
import type { Call } from './store-command.ts'
import { printable } from './table.ts'

/** A stack as JSON. Field names are API. */
export interface StackView {
  readonly name: string
  readonly source: string
  readonly queues: readonly QueueStepView[]
  readonly event_sources: readonly { readonly queue: string; readonly function: string }[]
  readonly alarms: readonly string[]
  /** Queues of earlier versions that are no longer in the template. */
  readonly gone: readonly { readonly name: string; readonly deleted: boolean }[]
}

export interface QueueStepView {
  readonly name: string
  readonly action: 'created' | 'changed' | 'unchanged'
  /** The names of changed settings. */
  readonly changes: readonly string[]
}

const words = { create: 'created', change: 'changed', keep: 'unchanged' } as const

export function planView({ stack, source, steps, gone }: SourcePlan, prune: boolean): StackView {
  return {
    name: stack.name,
    source,
    queues: steps.map((step) => ({
      name: step.queue,
      action: words[step.action],
      changes: changesOf(step),
    })),
    event_sources: stack.eventSources.map(({ queue, function: fed }) => ({ queue, function: fed })),
    alarms: stack.alarms.map(({ name }) => name),
    gone: gone.map((name) => ({ name, deleted: prune })),
  }
}

function changesOf({ action, settings, tags, removedTags }: QueueStep): readonly string[] {
  if (action !== 'change') return []
  const hasTags = Object.keys(tags).length + removedTags.length > 0
  return [...Object.keys(settings).map(fieldName), ...(hasTags ? ['tags'] : [])]
}

/** The name of a setting in output and JSON: `visibility_ms`. */
function fieldName(setting: string): string {
  return setting.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)
}

interface UpFlags {
  readonly dryRun?: true
  readonly prune?: true
}

const signs = { create: '+', change: '~', keep: '=' } as const

export function printPlans({ flags, output }: Call<UpFlags>, plans: readonly SourcePlan[]): void {
  const { bold, green, yellow, red, dim } = output.paint
  const colours = { create: green, change: yellow, keep: dim }
  for (const { stack, steps, gone } of plans) {
    output.line(bold(printable(stack.name)))
    for (const step of steps) {
      const changes = changesOf(step)
      const detail = changes.length === 0 ? '' : `: ${changes.join(', ')}`
      const line = `${signs[step.action]} ${printable(step.queue)}${printable(detail)}`
      output.line(`  ${colours[step.action](line)}`)
    }
    for (const name of gone) {
      const hint = flags.prune ? '' : ' is no longer in the template; use --prune to delete it'
      output.line(`  ${red(`- ${printable(name)}${hint}`)}`)
    }
    for (const { queue, function: fed } of stack.eventSources) {
      output.line(`  ${dim(`${printable(queue)} feeds ${printable(fed)}`)}`)
    }
    if (stack.alarms.length > 0) output.line(`  ${dim(counted(stack.alarms.length, 'alarm'))}`)
    output.notice(summaryOf(steps, flags.dryRun === true))
  }
}

function summaryOf(steps: readonly QueueStep[], dryRun: boolean): string {
  const count = (action: QueueStep['action']): number =>
    steps.filter((step) => step.action === action).length
  const summary = `${count('create')} created, ${count('change')} changed, ${count('keep')} unchanged`
  return dryRun ? `Dry run: ${summary}.` : `${summary}.`
}
