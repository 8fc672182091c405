/**
 * Loads a handler in its thread. Records every file of the function that is loaded, so that it can be
 * watched. Resolves imports like bundlers, without an extension or with `.js` for a TypeScript source,
 * because handlers are written that way before they are built.
 */
import { existsSync, statSync } from 'node:fs'
import { registerHooks } from 'node:module'
import { extname, join, sep } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { handlerFileNames } from '../../core/handler-extensions.ts'
import { isModuleSyntaxError, moduleSyntaxHint, withFormat } from '../typescript-modules.ts'
import { findModule, parseHandlerName } from './handler-file.ts'
import { type LambdaError, lambdaErrorOf, runtimeError } from './lambda-error.ts'
import type { ThreadData } from './thread-protocol.ts'

export type Handler = (event: unknown, context: unknown, callback?: unknown) => unknown

/** An error while loading a handler, in the form in which it is reported. */
export class LoadFailure extends Error {
  readonly reported: LambdaError

  constructor(reported: LambdaError) {
    super(reported.errorMessage)
    this.reported = reported
  }
}

/** Files of the function itself, in the order in which they were loaded. */
const own: string[] = []
let told = 0

const packages = `${sep}node_modules${sep}`

/** Starts recording the files that are loaded, except those of packages. */
export function recordModules(): void {
  registerHooks({
    resolve(specifier, context, next) {
      const found = withFormat(
        resolveAsBuilt(specifier, context.parentURL, () => next(specifier, context)),
      )
      const file = found.url.startsWith('file:') ? fileURLToPath(found.url) : ''
      if (file !== '' && !file.includes(packages)) own.push(file)
      return found
    },
  })
}

/** Files that were loaded since the last call. */
export function newModules(): readonly string[] {
  const files = own.slice(told)
  told = own.length
  return files
}

export async function loadHandler({ folder, handler, hasCallbacks }: ThreadData): Promise<Handler> {
  const { module, path } = parseHandlerName(handler)
  const file = findModule(folder, module)
  if (file === undefined) {
    const message = `Cannot find module '${handlerFileNames(module)}' in ${folder}`
    throw new LoadFailure(runtimeError('Runtime.ImportModuleError', message))
  }
  const loaded = await importModule(file)
  const found = memberAt(loaded, path) ?? memberAt(commonJsExports(loaded), path)
  if (typeof found !== 'function') {
    const what = found === undefined ? 'is undefined or not exported' : 'is not a function'
    throw new LoadFailure(runtimeError('Runtime.HandlerNotFound', `${handler} ${what}`))
  }
  if (!hasCallbacks && found.length > 2) {
    const message = `${handler} takes a callback, which Lambda does not support from nodejs24.x on. Make it an async function with two parameters, or use nodejs22.x.`
    throw new LoadFailure(runtimeError('Runtime.CallbackHandlerDeprecated', message))
  }
  return found as Handler // a function; what it takes cannot be known
}

async function importModule(file: string): Promise<unknown> {
  try {
    return await import(pathToFileURL(file).href)
  } catch (error) {
    throw new LoadFailure(reportOf(error))
  }
}

const typeScriptHint =
  'Node runs TypeScript by removing the types. Enums, namespaces, parameter properties, decorators and paths of tsconfig.json need a build first, or a loader: NODE_OPTIONS="--import tsx".'

function reportOf(error: unknown): LambdaError {
  const code = error instanceof Error && 'code' in error ? String(error.code) : ''
  const hint = code.includes('TYPESCRIPT') || code.includes('TYPE_STRIPPING') ? typeScriptHint : ''
  if (error instanceof SyntaxError) {
    const report = lambdaErrorOf(error, 'Runtime.UserCodeSyntaxError')
    // Node's message does not always name the file that it could not read.
    const file = own.at(-1) ?? ''
    const place = report.stack[0]?.includes(file) ? '' : ` (in ${file})`
    const advice = isModuleSyntaxError(error) ? moduleSyntaxHint : hint
    return { ...report, errorMessage: joined(report.errorMessage + place, advice) }
  }
  if (code === 'MODULE_NOT_FOUND' || code === 'ERR_MODULE_NOT_FOUND') {
    return lambdaErrorOf(error, 'Runtime.ImportModuleError')
  }
  const report = lambdaErrorOf(error)
  return { ...report, errorMessage: joined(report.errorMessage, hint) }
}

function joined(message: string, hint: string): string {
  return hint === '' ? message : `${message}. ${hint}`
}

/** CommonJS exports that Node could not detect are in one object. */
function commonJsExports(loaded: unknown): unknown {
  const isCommonJs = typeof loaded === 'object' && loaded !== null && 'module.exports' in loaded
  return isCommonJs ? loaded['module.exports'] : undefined
}

function memberAt(root: unknown, path: readonly string[]): unknown {
  let value = root
  for (const key of path) {
    if (typeof value !== 'function' && (typeof value !== 'object' || value === null))
      return undefined
    value = Reflect.get(value, key)
  }
  return value
}

const sourceEndings: Readonly<Record<string, readonly string[]>> = {
  '.js': ['.ts'],
  '.mjs': ['.mts'],
  '.cjs': ['.cts'],
}
const endings: readonly string[] = ['.ts', '.js', '.mts', '.mjs', '.cts', '.cjs', '.json']

type Resolved = { readonly url: string }

function resolveAsBuilt<Found extends Resolved>(
  specifier: string,
  parent: string | undefined,
  resolve: () => Found,
): Found {
  try {
    return resolve()
  } catch (error) {
    const file = isRelative(specifier) && parent?.startsWith('file:') && sourceOf(specifier, parent)
    if (!file || file.includes(packages)) throw error
    // The result that Node's hooks expect. The format follows from the file.
    return { url: pathToFileURL(file).href, shortCircuit: true } as unknown as Found
  }
}

function isRelative(specifier: string): boolean {
  return specifier.startsWith('./') || specifier.startsWith('../')
}

function sourceOf(specifier: string, parent: string): string | undefined {
  const path = fileURLToPath(new URL(specifier, parent))
  const ending = extname(path)
  const stem = path.slice(0, path.length - ending.length)
  return [
    ...(sourceEndings[ending] ?? []).map((one) => stem + one),
    ...endings.map((one) => path + one),
    ...endings.map((one) => join(path, `index${one}`)),
  ].find((file) => existsSync(file) && statSync(file).isFile())
}
