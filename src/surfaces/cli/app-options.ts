/** `--app` and `--stage` of commands that use the declarations of an app. */
import { type Command, Option } from 'commander'
import type { App } from '../../contracts/define-app.ts'
import type { Call } from './store-command.ts'

export interface AppFlags {
  readonly app?: string
  readonly stage?: string
}

/** @param description what the file exports */
export function addAppOptions(command: Command, description: string): Command {
  return command
    .addOption(new Option('--app <module>', description).env('MILLRACE_APP'))
    .addOption(new Option('--stage <name>', 'stage of the app').env('MILLRACE_STAGE'))
}

export interface StagedApp {
  readonly app: App
  readonly stage: string
}

/** Undefined without `--app`. */
export async function appOf({
  flags,
  shell: { platform, environment },
}: Pick<Call<AppFlags>, 'flags' | 'shell'>): Promise<StagedApp | undefined> {
  const { app, stage } = flags
  if (!app) return undefined
  const { loadAppAtStage } = await platform.apps()
  return loadAppAtStage(app, { environment, ...(stage && { stage }) })
}
