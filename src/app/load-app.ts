/**
 * The app that a module of the user declares: its default export, or the one export that is an app. A module
 * without one may export a function that makes the app from the settings of the command.
 */
import { existsSync } from 'node:fs'
import { resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import type { App, AppSettings } from '../contracts/define-app.ts'
import { defaultStage } from '../contracts/resolve-names.ts'
import { isError } from '../core/is-error.ts'
import { MillraceError } from '../core/millrace-error.ts'
import {
  allowTypeScriptModules,
  isModuleSyntaxError,
  moduleSyntaxHint,
} from '../worker/typescript-modules.ts'

/** The stage that was asked for, and where one may be named besides. */
export type StageOptions = AppSettings

/** @param version reads the module anew when it has this number for the first time */
export async function loadApp(path: string, options: StageOptions, version = 0): Promise<App> {
  const file = resolve(path)
  const exported = await load(file, version === 0 ? '' : `?version=${version}`)
  const { default: main, ...others } = exported
  if (isApp(main)) return main
  // One app may be exported under two names.
  const apps = new Set(Object.values(others).filter(isApp))
  const [app] = apps
  if (app !== undefined && apps.size === 1) return app
  const functions = functionsIn(typeof main === 'function' ? { default: main } : others)
  const [made] = functions
  if (made !== undefined && apps.size + functions.length === 1) {
    return appMadeBy(made, file, settingsOf(options))
  }
  const found = apps.size === 0 ? 'none' : `${apps.size}`
  const beside = functions.length > 1 ? `, and ${functions.length} functions` : ''
  throw refused(
    `${file} must export one app made with defineApp, or one function that returns it, ` +
      `as its default or by itself; it has ${found}${beside}.`,
  )
}

/** @param version a higher number reloads the module */
export async function loadAppAtStage(
  path: string,
  options: StageOptions,
  version = 0,
): Promise<{ readonly app: App; readonly stage: string }> {
  const app = await loadApp(path, options, version)
  return { app, stage: namedStage(options) ?? (app.stage || defaultStage) }
}

function namedStage({ stage, environment }: StageOptions): string | undefined {
  return stage ?? (environment['MILLRACE_STAGE'] || undefined)
}

function settingsOf(options: StageOptions): AppSettings {
  const stage = namedStage(options)
  return { ...(stage !== undefined && { stage }), environment: { ...options.environment } }
}

async function appMadeBy(
  [name, make]: NamedFunction,
  file: string,
  settings: AppSettings,
): Promise<App> {
  const place = `The function '${name}' of ${file}`
  let made: unknown
  try {
    made = await make(settings)
  } catch (cause) {
    throw refused(`${place} failed: ${firstLine(cause)}`, cause)
  }
  if (!isApp(made)) throw refused(`${place} must return an app made with defineApp.`)
  return made
}

async function load(file: string, query: string): Promise<Readonly<Record<string, unknown>>> {
  allowTypeScriptModules()
  try {
    return await import(pathToFileURL(file).href + query)
  } catch (cause) {
    throw refused(`Cannot load the app from ${file}: ${reasonOf(cause, file)}`, cause)
  }
}

function reasonOf(cause: unknown, file: string): string {
  // Node's own message would name the importing file, which is part of Millrace.
  if (!existsSync(file)) return 'the file does not exist'
  const reason = firstLine(cause)
  return isModuleSyntaxError(cause) ? `${reason}. ${moduleSyntaxHint}` : reason
}

function firstLine(cause: unknown): string {
  const [reason = ''] = isError(cause) ? cause.message.split('\n', 1) : ['unknown']
  return reason
}

function refused(message: string, cause?: unknown): MillraceError {
  return new MillraceError('invalid_contract', { message, cause })
}

type NamedFunction = readonly [name: string, make: (settings: AppSettings) => unknown]

function functionsIn(exported: Readonly<Record<string, unknown>>): readonly NamedFunction[] {
  return Object.entries(exported).flatMap(([name, value]) =>
    // What it takes and returns is known to the user; what it returns is checked.
    typeof value === 'function' ? [[name, value as NamedFunction[1]] as const] : [],
  )
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
