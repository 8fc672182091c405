/** Prints the problems of a template, one per line, in the form that editors turn into links. */
import { relative } from 'node:path'
import type { Place, TemplateProblem } from '../../templates/stack.ts'
import type { Output, Shell } from './shell.ts'
import { printable } from './table.ts'

export function printProblems(
  problems: readonly TemplateProblem[],
  { output, shell }: { readonly output: Output; readonly shell: Pick<Shell, 'folder'> },
): void {
  const { red, yellow } = output.noticePaint
  for (const { severity, path, message, at } of problems) {
    const word = severity === 'error' ? red(severity) : yellow(severity)
    const where = path === '' ? '' : ` (${printable(path)})`
    output.notice(`${placeText(at, shell.folder)}: ${word}: ${printable(message)}${where}`)
  }
}

export function placeText({ file, line, column }: Place, folder: string): string {
  const path = relative(folder, file)
  return `${printable(path.startsWith('..') ? file : path)}:${line}:${column}`
}

/** A problem as JSON. Field names are API. */
export interface ProblemView {
  readonly severity: TemplateProblem['severity']
  readonly message: string
  readonly path: string
  readonly file: string
  readonly line: number
  readonly column: number
}

export function problemView({ severity, message, path, at }: TemplateProblem): ProblemView {
  const { file, line, column } = at
  return { severity, message, path, file, line, column }
}
