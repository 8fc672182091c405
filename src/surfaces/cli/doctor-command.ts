/**
 * `millrace doctor`: finds settings that AWS would reject, that lose messages, or that cause trouble later.
 */

import type { Command } from 'commander'
import type { Finding } from '../../contracts/doctor-rule.ts'
import { counted } from '../../core/counted.ts'
import type { Examination } from '../../stacks/examine.ts'
import { CommandFailure } from './command-failure.ts'
import { exitCodes } from './exit-codes.ts'
import { placeText, printProblems, problemView } from './problem-lines.ts'
import type { Shell } from './shell.ts'
import {
  addPlaceOptions,
  addStackOptions,
  type StackFlags,
  sourceOptions,
} from './stack-options.ts'
import { type Call, inStore, run, type StoreFlags, storeCommand } from './store-command.ts'
import { printable } from './table.ts'

interface DoctorFlags extends StoreFlags, StackFlags {}

export function doctorCommand(parent: Command, shell: Shell): void {
  const command = storeCommand(parent, {
    usage: 'doctor [templates...]',
    description: 'Find mistakes in templates or apps, or in the queues of the store.',
    examples: ['doctor', 'doctor serverless.yml', 'doctor src/app.ts --json'],
  })
  run(shell, addPlaceOptions(addStackOptions(command)), doctor)
}

async function doctor(call: Call<DoctorFlags>, templates: readonly string[]): Promise<void> {
  const { flags, output } = call
  const { findings, problems } = await examineAll(call, templates)
  if (flags.json) {
    output.json({ findings: findings.map(findingView), problems: problems.map(problemView) })
  } else {
    printProblems(problems, call)
    for (const finding of findings) tellFinding(call, finding)
    if (findings.length + problems.length === 0) output.notice('No problems found.')
  }
  const isError = ({ severity }: { readonly severity: string }): boolean => severity === 'error'
  const errors = [...findings, ...problems].filter(isError).length
  if (errors === 0) return
  const message = `Found ${counted(errors, 'error')}.`
  throw new CommandFailure(exitCodes.failed, message)
}

async function examineAll(
  { flags, shell }: Call<DoctorFlags>,
  templates: readonly string[],
): Promise<Examination> {
  const { examineSource, examineStore } = await shell.platform.doctor()
  if (templates.length === 0) {
    return inStore({ flags, shell }, ({ backend }) => examineStore(backend))
  }
  const options = sourceOptions(flags, shell)
  const all = await Promise.all(templates.map((template) => examineSource(template, options)))
  return {
    findings: all.flatMap(({ findings }) => findings),
    problems: all.flatMap(({ problems }) => problems),
  }
}

/** A finding as JSON; the names of fields are API. */
function findingView({ rule, severity, subject, reason, fix, at }: Finding): object {
  const { file = null, line = null, column = null } = at ?? {}
  return { rule, severity, subject, reason, fix, file, line, column }
}

function tellFinding({ output, shell }: Call<DoctorFlags>, finding: Finding): void {
  const { bold, dim, red, yellow, cyan } = output.paint
  const { rule, severity, subject, reason, fix, at } = finding
  const colour = { error: red, warning: yellow, hint: cyan }[severity]
  const place = at === undefined ? '' : `  ${dim(placeText(at, shell.folder))}`
  output.line(`${colour(severity)} ${bold(printable(subject))}  ${dim(rule)}${place}`)
  output.line(`  ${printable(reason)}`)
  output.line(`  ${dim('fix:')} ${printable(fix)}`)
}
