/**
 * Loading a handler in its thread. Every file of the function that is loaded on the way is noted, so
 * that it can be watched; and imports are found as bundlers find them, without their ending or with
 * `.js` where the source is TypeScript, because that is how handlers are written before they are built.
 */
import { existsSync, statSync } from 'node:fs'
import { registerHooks } from 'node:module'
import { extname, join, sep } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { findModule, lookedFor, parseHandlerName } from './handler-file.ts'
import { type LambdaError, lambdaErrorOf, runtimeError } from './lambda-error.ts'
import type { ThreadData } from './thread-protocol.ts'

export type Handler = (event: unknown, context: unknown, callback?: unknown) => unknown

/** What keeps a handler from being loaded, already in the form in which it is reported. */
export class LoadFailure extends Error {
  readonly reported: LambdaError

  constructor(reported: LambdaError) {
    super(reported.errorMessage)
    this.reported = reported
  }
}

/** Files of the function itself, in the order in which they were found. */
const own: string[] = []
let told = 0

const packages = `${sep}node_modules${sep}`

/** From now on, files that are loaded are noted; those of packages are not. */
export function noteModules(): void {
  registerHooks({
    resolve(specifier, context, next) {
      const found = resolveAsBuilt(specifier, context.parentURL, () => next(specifier, context))
      const file = found.url.startsWith('file:') ? fileURLToPath(found.url) : ''
      if (file !== '' && !file.includes(packages)) own.push(file)
      return found
    },
  })
}

/** Files that have been loaded since the last call. */
export function newModules(): readonly string[] {
  const files = own.slice(told)
  told = own.length
  return files
}

export async function loadHandler({ folder, handler, hasCallbacks }: ThreadData): Promise<Handler> {
  const { module, path } = parseHandlerName(handler)
  const file = findModule(folder, module)
  if (file === undefined) {
    const message = `Cannot find module '${lookedFor(module)}' in ${folder}`
    throw new LoadFailure(runtimeError('Runtime.ImportModuleError', message))
  }
  const loaded = await importModule(file)
  const found = memberAt(loaded, path) ?? memberAt(commonJsExports(loaded), path)
  if (typeof found !== 'function') {
    const what = found === undefined ? 'is undefined or not exported' : 'is not a function'
    throw new LoadFailure(runtimeError('Runtime.HandlerNotFound', `${handler} ${what}`))
  }
  if (!hasCallbacks && found.length > 2) {
    const message = `${handler} takes a callback, which Lambda does not give from nodejs24.x on. Make it an async function of two arguments, or use nodejs22.x.`
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
  'Node runs TypeScript by leaving out the types. What has to be turned into code (enums, namespaces, parameter properties, decorators) or looked up in tsconfig.json (paths) needs a build first, or a loader: NODE_OPTIONS="--import tsx".'

function reportOf(error: unknown): LambdaError {
  const code = error instanceof Error && 'code' in error ? String(error.code) : ''
  const hint = code.includes('TYPESCRIPT') || code.includes('TYPE_STRIPPING') ? typeScriptHint : ''
  if (error instanceof SyntaxError) {
    const report = lambdaErrorOf(error, 'Runtime.UserCodeSyntaxError')
    // Node does not always say in its message which file it could not read.
    const file = own.at(-1) ?? ''
    const place = report.stack[0]?.includes(file) ? '' : ` (in ${file})`
    return { ...report, errorMessage: joined(report.errorMessage + place, hint) }
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

/** Exports of CommonJS that Node could not find by reading the code are in one piece. */
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
    // What the hooks of Node ask for; the format follows from the file.
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
