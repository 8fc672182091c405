/** `millrace template`: checks templates, and exports an app as a template. */
import { type Command, Option } from 'commander'
import type { ExportFormat } from '../../templates/export-template.ts'
import { CommandFailure } from './command-failure.ts'
import { exitCodes } from './exit-codes.ts'
import { oneOf } from './option-values.ts'
import { printProblems, problemView } from './problem-lines.ts'
import type { Shell } from './shell.ts'
import {
  addPlaceOptions,
  addStackOptions,
  type StackFlags,
  sourceOptions,
} from './stack-options.ts'
import { type Call, newCommand, run } from './store-command.ts'
import { printable } from './table.ts'

interface CheckFlags extends StackFlags {
  readonly json?: true
}

interface ExportFlags {
  readonly app: string
  readonly format: ExportFormat
  readonly stage?: string
  readonly json?: true
}

const formats: readonly ExportFormat[] = ['cloudformation', 'sam', 'serverless']

export function templateCommand(parent: Command, shell: Shell): void {
  const template = newCommand(parent, {
    usage: 'template',
    description: 'Check templates, and export an app as a template.',
  })
  const checking = newCommand(template, {
    usage: 'check <templates...>',
    description: 'Report what Millrace cannot read in templates, with file and line.',
    examples: ['template check serverless.yml', 'template check cdk.out --json'],
  }).option('--json', 'print one JSON document to stdout')
  run(shell, addPlaceOptions(addStackOptions(checking)), check)
  run(shell, exportCommand(template), exportApp)
}

function exportCommand(parent: Command): Command {
  return newCommand(parent, {
    usage: 'export',
    description: 'Print the queues, alarms and policies of an app as a template.',
    examples: [
      'template export --app src/app.ts --format sam > template.yaml',
      'template export --app src/app.ts --format cloudformation --json',
    ],
  })
    .requiredOption('--app <module>', 'file that exports the app (required)')
    .addOption(
      new Option('--format <format>', `format of the template: ${formats.join(', ')}`)
        .default('cloudformation')
        .argParser(oneOf(formats)),
    )
    .addOption(new Option('--stage <name>', 'stage of the app').env('MILLRACE_STAGE'))
    .option('--json', 'print JSON instead of YAML')
}

async function check(call: Call<CheckFlags>, templates: readonly string[]): Promise<void> {
  const { flags, output, shell } = call
  const { readSources } = await shell.platform.stacks()
  const sources = await readSources(templates, sourceOptions(flags, shell))
  const problems = sources.flatMap((source) => source.problems)
  if (flags.json) output.json({ problems: problems.map(problemView) })
  else printProblems(problems, call)
  if (problems.some(({ severity }) => severity === 'error')) {
    throw new CommandFailure(exitCodes.failed, 'The templates have errors and cannot be used.')
  }
  if (!flags.json) output.notice('No errors found.')
}

async function exportApp({ flags, output, shell }: Call<ExportFlags>): Promise<void> {
  const { format, json, stage } = flags
  const { exportTemplate } = await import('../../templates/export-template.ts')
  const { loadAppAtStage } = await shell.platform.apps()
  const { environment } = shell
  const loaded = await loadAppAtStage(flags.app, { environment, ...(stage && { stage }) })
  const syntax = json ? 'json' : 'yaml'
  const { text, warnings } = exportTemplate({ ...loaded, format, syntax })
  output.line(text.trimEnd())
  for (const warning of warnings) output.notice(`warning: ${printable(warning)}`)
}
