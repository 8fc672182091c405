/** What `millrace dev` writes while it runs: stacks that went up, problems, and invocations. */

import type { InvocationReport, LambdaLogLine } from '../../server/dev.ts'
import type { SourcePlan } from '../../stacks/bring-up.ts'
import type { TemplateProblem } from '../../templates/stack.ts'
import { tellProblems } from './problem-lines.ts'
import type { Call } from './store-command.ts'
import { printable } from './table.ts'

export interface DevLogFlags {
  /** Also START, END and REPORT of each invocation. */
  readonly reports?: true
}

export class DevLog {
  readonly #call: Call<DevLogFlags>

  constructor(call: Call<DevLogFlags>) {
    this.#call = call
  }

  up(plans: readonly SourcePlan[]): void {
    const { output } = this.#call
    for (const { stack, steps, gone } of plans) {
      const changed = steps.filter(({ action }) => action !== 'keep').length
      const facts = [
        `${steps.length} queues (${changed} new or changed)`,
        `${stack.eventSources.length} event sources`,
        ...(gone.length === 0 ? [] : [`gone from the template: ${gone.join(', ')}`]),
      ]
      output.notice(
        `${output.noticePaint.green('up')} ${printable(stack.name)}: ${facts.join(', ')}`,
      )
    }
  }

  problems(problems: readonly TemplateProblem[]): void {
    tellProblems(problems, this.#call)
  }

  /** What a function wrote itself, and why it failed; the rest is also in the line of its invocation. */
  line({ function: name, requestId, kind, level, text }: LambdaLogLine): void {
    const { flags, output } = this.#call
    if (kind !== 'output' && kind !== 'error' && !flags.reports) return
    const { cyan, dim, red, yellow } = output.noticePaint
    const colour = level === 'error' ? red : level === 'warn' ? yellow : String
    for (const line of text.split(/\r?\n/)) {
      const from = `${cyan(printable(name))} ${dim(requestId ?? 'init')}`
      // A tab moves nothing but the text behind it.
      const shown = line.split('\t').map(printable).join('\t')
      output.notice(`${from} ${colour(shown)}`)
    }
  }

  invocation(report: InvocationReport): void {
    const { output } = this.#call
    const { cyan, dim, green, red } = output.noticePaint
    const isClean = report.status === 'succeeded' && report.left === 0
    const outcome = isClean ? green('done') : red(failureText[report.status])
    const messages = report.records === 1 ? '1 message' : `${report.records} messages`
    const facts = [
      `${report.acknowledged} of ${messages}${isClean ? '' : ' done'}`,
      `${report.durationMs.toFixed(1)} ms`,
      ...(report.initMs === null ? [] : [`started in ${report.initMs.toFixed(0)} ms`]),
      ...(report.left === 0 ? [] : [`${report.left} will be retried`]),
      ...(report.problem === null ? [] : [report.problem]),
    ]
    const from = `${cyan(printable(report.function))} ${dim(report.requestId)}`
    output.notice(`${from} ${outcome}: ${printable(facts.join(', '))}`)
  }
}

/** A function that has succeeded may have named messages that have not. */
const failureText: Readonly<Record<InvocationReport['status'], string>> = {
  succeeded: 'partly failed',
  failed: 'failed',
  timed_out: 'timed out',
}
