/** The app that a module of the user declares: its default export, or the one export that is an app. */
import { existsSync } from 'node:fs'
import { resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import type { App } from '../contracts/define-app.ts'
import { defaultStage } from '../contracts/resolve-names.ts'
import { isError } from '../core/is-error.ts'
import { MillraceError } from '../core/millrace-error.ts'

export interface LoadAppOptions {
  /** Reads the module anew when it has this number for the first time. */
  readonly version?: number
}

export async function loadApp(path: string, { version }: LoadAppOptions = {}): Promise<App> {
  const file = resolve(path)
  const exported = await load(file, version === undefined ? '' : `?version=${version}`)
  const { default: main, ...others } = exported
  if (isApp(main)) return main
  // One app under two names is still one.
  const apps = new Set(Object.values(others).filter(isApp))
  const [app] = apps
  if (app !== undefined && apps.size === 1) return app
  const found = apps.size === 0 ? 'none' : `${apps.size}`
  throw refused(
    `${file} must export one app made with defineApp, as its default or by itself; it has ${found}.`,
  )
}

export interface StageOptions {
  readonly stage?: string
  readonly environment: Readonly<Record<string, string | undefined>>
}

/** @param version counts up when a module is to be read anew */
export async function loadAppAtStage(
  path: string,
  { stage, environment }: StageOptions,
  version = 0,
): Promise<{ readonly app: App; readonly stage: string }> {
  const app = await loadApp(path, version === 0 ? {} : { version })
  return { app, stage: stage ?? (environment['MILLRACE_STAGE'] || app.stage || defaultStage) }
}

async function load(file: string, query: string): Promise<Readonly<Record<string, unknown>>> {
  try {
    return await import(pathToFileURL(file).href + query)
  } catch (cause) {
    throw refused(`Cannot load the app from ${file}: ${reasonOf(cause, file)}`, cause)
  }
}

function reasonOf(cause: unknown, file: string): string {
  // Node would name the file that imports it, which is one of ours.
  if (!existsSync(file)) return 'there is no such file'
  const [reason = ''] = isError(cause) ? cause.message.split('\n', 1) : ['unknown']
  return reason
}

function refused(message: string, cause?: unknown): MillraceError {
  return new MillraceError('invalid_contract', { message, cause })
}

/** The module may have its own copy of the package, so the form counts, not the class. */
function isApp(value: unknown): value is App {
  return (
    typeof value === 'object' &&
    value !== null &&
    'name' in value &&
    typeof value.name === 'string' &&
    'queues' in value &&
    typeof value.queues === 'object' &&
    value.queues !== null
  )
}
