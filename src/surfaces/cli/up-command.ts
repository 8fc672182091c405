/** `millrace up`: creates and updates the queues of templates and apps, and records their other resources. */

import type { Command } from 'commander'
import { counted } from '../../core/counted.ts'
import { MillraceError } from '../../core/millrace-error.ts'
import type { PlannedUp, PlanUpRequest } from '../../stacks/bring-up.ts'
import type { StackSource } from '../../stacks/stack-source.ts'
import { CommandFailure } from './command-failure.ts'
import { confirm } from './confirm.ts'
import { exitCodes } from './exit-codes.ts'
import { printProblems, problemView } from './problem-lines.ts'
import type { Shell } from './shell.ts'
import {
  addPlaceOptions,
  addStackOptions,
  type StackFlags,
  sourceOptions,
} from './stack-options.ts'
import {
  type Call,
  inStore,
  type OpenStore,
  run,
  type StoreFlags,
  storeCommand,
} from './store-command.ts'
import { planView, printPlans } from './up-sheet.ts'

interface UpFlags extends StoreFlags, StackFlags {
  readonly dryRun?: true
  readonly prune?: true
  readonly yes?: true
}

export function upCommand(parent: Command, shell: Shell): void {
  const command = storeCommand(parent, {
    usage: 'up <templates...>',
    description: 'Create or update the queues of templates or apps.',
    examples: [
      'up serverless.yml --stage dev',
      'up template.yaml --param Stage=test --dry-run',
      'up cdk.out',
      'up src/app.ts',
    ],
  })
  addPlaceOptions(addStackOptions(command))
    .option('--dry-run', 'show what would be done, and change nothing')
    .option('--prune', 'delete queues that are no longer in the template')
    .option('--yes', 'do not ask for confirmation')
  run(shell, command, up)
}

async function up(call: Call<UpFlags>, templates: readonly string[]): Promise<void> {
  const { flags, output, shell } = call
  const { readSources } = await shell.platform.stacks()
  const sources = await readSources(templates, sourceOptions(flags, shell))
  // Templates with errors must not create a store.
  if (sources.some(({ stack }) => stack === null)) {
    return refuse(call, { problems: sources.flatMap(({ problems }) => problems) })
  }
  const { hasStore } = await shell.platform.stores()
  const isNew = flags.dryRun === true && !(await hasStore(flags.store))
  const planned = isNew
    ? await plan(call, { backend: emptyStore }, sources)
    : await inStore(call, (store) => planAndApply(call, store, sources), { create: true })
  if (!flags.json) return printPlans(call, planned.plans)
  output.json({
    dry_run: flags.dryRun === true,
    stacks: planned.plans.map((one) => planView(one, flags.prune === true)),
    problems: planned.problems.map(problemView),
  })
}

/** `--dry-run` does not create a store. */
const emptyStore: PlanUpRequest['backend'] = {
  stacks: null,
  readQueue: () => Promise.reject(new MillraceError('queue_not_found')),
}

async function planAndApply(
  call: Call<UpFlags>,
  store: OpenStore,
  sources: readonly StackSource[],
): Promise<PlannedUp> {
  const planned = await plan(call, store, sources)
  if (!call.flags.dryRun) await apply(call, store, planned)
  return planned
}

async function plan(
  call: Call<UpFlags>,
  { backend }: Pick<PlanUpRequest, 'backend'>,
  sources: readonly StackSource[],
): Promise<PlannedUp> {
  const { planUp } = await call.shell.platform.stacks()
  const planned = await planUp({ backend, sources })
  if (planned.hasErrors) return refuse(call, planned)
  printProblems(planned.problems, call)
  return planned
}

async function apply(
  { flags, shell }: Call<UpFlags>,
  { backend }: OpenStore,
  planned: PlannedUp,
): Promise<void> {
  const gone = planned.plans.flatMap((plan) => plan.gone)
  const prune = flags.prune === true && gone.length > 0
  if (prune) {
    const question = `This will delete ${counted(gone.length, 'queue')} and all messages: ${gone.join(', ')}.`
    await confirm(shell, { question, name: 'delete', yes: flags.yes })
  }
  const { bringUp } = await shell.platform.stacks()
  try {
    await bringUp(backend, planned, { prune })
  } catch (error) {
    if (!(error instanceof MillraceError)) throw error
    const message = `${error.message} Some queues may have changed. Run the command again to continue.`
    throw new CommandFailure(exitCodes.partlyDone, message)
  }
}

function refuse(call: Call<UpFlags>, { problems }: Pick<PlannedUp, 'problems'>): never {
  const { flags, output } = call
  if (flags.json) output.json({ dry_run: true, stacks: [], problems: problems.map(problemView) })
  printProblems(problems, call)
  const errors = problems.filter(({ severity }) => severity === 'error').length
  const message = `Found ${counted(errors, 'error')}. Nothing was changed.`
  throw new CommandFailure(exitCodes.failed, message)
}
