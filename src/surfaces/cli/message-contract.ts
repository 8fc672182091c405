/**
 * What `millrace message send` checks. With the app, these are the checks of a server that knows the app.
 * Without it, the store only knows which queues hold jobs, and those are left alone.
 */
import type { Backend } from '../../backends/backend.ts'
import { resolveQueues } from '../../contracts/resolve-queues.ts'
import { type AppFlags, appOf, type StagedApp } from './app-options.ts'
import { CommandFailure } from './command-failure.ts'
import { exitCodes } from './exit-codes.ts'
import type { Call } from './store-command.ts'
import { printable } from './table.ts'

/** The store with the checks for sending to this queue. Rejects if a job cannot be checked. */
export async function checkedStore(
  call: Call<AppFlags>,
  backend: Backend,
  queue: string,
): Promise<Backend> {
  const { output, shell } = call
  const { settings } = await backend.readQueue({ queue })
  const staged = await appOf(call)
  const contracts = staged === undefined ? [] : contractsOf(staged)
  if (!contracts.some(({ name }) => name === queue)) {
    if (settings.jobTypes.length > 0) throw unchecked(queue, settings.jobTypes, staged)
    if (staged !== undefined) output.notice(`Not checked: ${outside(queue, staged)}.`)
  }
  const { WireContracts } = await shell.platform.contracts()
  // Nothing is received, so nothing can be refused at a receive.
  const checked = new WireContracts({
    backend,
    clock: shell.ports.clock,
    onRefused: () => undefined,
  })
  checked.set(contracts)
  return checked.store
}

function contractsOf({ app, stage }: StagedApp) {
  return resolveQueues(app, stage).queues.map(({ key, name, declared }) => ({
    key,
    name,
    declared,
    app,
  }))
}

function unchecked(
  queue: string,
  types: readonly string[],
  staged: StagedApp | undefined,
): CommandFailure {
  const kinds = `${types.length === 1 ? 'type' : 'types'} ${types.map(printable).join(', ')}`
  const holds = `The queue '${printable(queue)}' holds jobs of the ${kinds}`
  const message =
    staged === undefined
      ? `${holds}, and only the app can check them. Name the job type and the file of the app with --type and --app.`
      : `${holds}, but ${outside(queue, staged)}. Check --app and --stage.`
  return new CommandFailure(exitCodes.usage, message)
}

function outside(queue: string, { app, stage }: StagedApp): string {
  return (
    `'${printable(queue)}' is not among the queues of the app '${printable(app.name)}' ` +
    `in the stage '${printable(stage)}'`
  )
}
