/** The log of `millrace dev`: deployed stacks, problems, and invocations. */

import { counted } from '../../core/counted.ts'
import type { InvocationReport, LambdaLogLine, RequestReport } from '../../server/dev.ts'
import type { SourcePlan } from '../../stacks/bring-up.ts'
import type { TemplateProblem } from '../../templates/stack.ts'
import { printProblems } from './problem-lines.ts'
import type { Call } from './store-command.ts'
import { printable } from './table.ts'

export interface DevLogFlags {
  /** Prints START, END and REPORT lines too. */
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
        `${counted(steps.length, 'queue')} (${changed} new or changed)`,
        counted(stack.eventSources.length, 'event source'),
        ...(stack.routes.length === 0 ? [] : [counted(stack.routes.length, 'route')]),
        ...(gone.length === 0 ? [] : [`no longer in the template: ${gone.join(', ')}`]),
      ]
      output.notice(
        `${output.noticePaint.green('up')} ${printable(stack.name)}: ${facts.join(', ')}`,
      )
    }
  }

  problems(problems: readonly TemplateProblem[]): void {
    printProblems(problems, this.#call)
  }

  /** Prints the output of a function and why it failed. The other lines repeat its invocation. */
  line({ function: name, requestId, kind, level, text }: LambdaLogLine): void {
    const { flags, output } = this.#call
    if (kind !== 'output' && kind !== 'error' && !flags.reports) return
    const { cyan, dim, red, yellow } = output.noticePaint
    const colour = level === 'error' ? red : level === 'warn' ? yellow : String
    for (const line of text.split(/\r?\n/)) {
      const from = `${cyan(printable(name))} ${dim(requestId ?? 'init')}`
      // `printable` would replace tabs, which are harmless.
      const shown = line.split('\t').map(printable).join('\t')
      output.notice(`${from} ${colour(shown)}`)
    }
  }

  request({ method, path, function: name, status, durationMs }: RequestReport): void {
    const { output } = this.#call
    const { cyan, green, red } = output.noticePaint
    const from = cyan(printable(name ?? 'no function'))
    const what = printable(`${method} ${path}`)
    const outcome = (status < 500 ? green : red)(String(status))
    output.notice(`${from} ${what} ${outcome}: ${durationMs.toFixed(1)} ms`)
  }

  invocation(report: InvocationReport): void {
    const { output } = this.#call
    const { cyan, dim, green, red } = output.noticePaint
    const isClean = report.status === 'succeeded' && report.left === 0
    const outcome = isClean ? green('done') : red(failureText[report.status])
    const facts = [
      `${report.acknowledged} of ${counted(report.records, 'message')}${isClean ? '' : ' done'}`,
      `${report.durationMs.toFixed(1)} ms`,
      ...(report.initMs === null ? [] : [`started in ${report.initMs.toFixed(0)} ms`]),
      ...(report.left === 0 ? [] : [`${report.left} will be retried`]),
      ...(report.problem === null ? [] : [report.problem]),
    ]
    const from = `${cyan(printable(report.function))} ${dim(report.requestId)}`
    output.notice(`${from} ${outcome}: ${printable(facts.join(', '))}`)
  }
}

/** An invocation can succeed and still report single messages as failed. */
const failureText: Readonly<Record<InvocationReport['status'], string>> = {
  succeeded: 'partly failed',
  failed: 'failed',
  timed_out: 'timed out',
}
