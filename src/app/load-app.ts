/** Loads the app of a module: its default export, or the only export that is an app. */
import { existsSync } from 'node:fs'
import { resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import type { App } from '../contracts/define-app.ts'
import { defaultStage } from '../contracts/resolve-names.ts'
import { isError } from '../core/is-error.ts'
import { MillraceError } from '../core/millrace-error.ts'

export interface LoadAppOptions {
  /** A new number reloads the module. */
  readonly version?: number
}

export async function loadApp(path: string, { version }: LoadAppOptions = {}): Promise<App> {
  const file = resolve(path)
  const exported = await load(file, version === undefined ? '' : `?version=${version}`)
  const { default: main, ...others } = exported
  if (isApp(main)) return main
  // One app may be exported under two names.
  const apps = new Set(Object.values(others).filter(isApp))
  const [app] = apps
  if (app !== undefined && apps.size === 1) return app
  const found = apps.size === 0 ? 'none' : `${apps.size}`
  throw refused(
    `${file} must export one app from defineApp, as default export or as its only app; it has ${found}.`,
  )
}

export interface StageOptions {
  readonly stage?: string
  readonly environment: Readonly<Record<string, string | undefined>>
}

/** @param version a higher number reloads the module */
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
  // Node's own message would name the importing file, which is part of Millrace.
  if (!existsSync(file)) return 'the file does not exist'
  const [reason = ''] = isError(cause) ? cause.message.split('\n', 1) : ['unknown']
  return reason
}

function refused(message: string, cause?: unknown): MillraceError {
  return new MillraceError('invalid_contract', { message, cause })
}

/** Checks the shape and not the class, because the module may have its own copy of the package. */
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
