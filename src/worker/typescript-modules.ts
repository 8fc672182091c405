/**
 * Runs TypeScript with `import` and `export` as a module, even if its package.json has `"type": "commonjs"`,
 * which `npm init -y` writes. Bundlers and tsc accept such files. Node itself looks for this syntax only if
 * the package has no type.
 */
import { readFileSync, statSync } from 'node:fs'
import { registerHooks, stripTypeScriptTypes } from 'node:module'
import { sep } from 'node:path'
import { fileURLToPath } from 'node:url'
import { compileFunction } from 'node:vm'

/** What a resolve hook of Node returns. */
export interface ResolvedModule {
  readonly url: string
  readonly format?: string | null | undefined
}

let isRegistered = false

/** Applies to all modules that this thread loads from now on. */
export function allowTypeScriptModules(): void {
  // Deno and Bun have no hooks, and run such files by themselves.
  if (isRegistered || typeof registerHooks !== 'function') return
  isRegistered = true
  registerHooks({ resolve: (specifier, context, next) => withFormat(next(specifier, context)) })
}

const packages = `${sep}node_modules${sep}`

/** The same result, as a module if the file can only be one. */
export function withFormat<Found extends ResolvedModule>(found: Found): Found {
  const { url, format } = found
  // Another format is that of a loader such as tsx. Without one, it follows from the file.
  if ((format ?? 'commonjs-typescript') !== 'commonjs-typescript') return found
  if (!url.startsWith('file:')) return found
  const file = fileURLToPath(url)
  if (!file.endsWith('.ts') || file.includes(packages) || !isModule(file)) return found
  return { ...found, format: 'module-typescript' }
}

/** By path and time of change: several files import the same one. */
const known = new Map<string, boolean>()

function isModule(file: string): boolean {
  const stat = statSync(file, { throwIfNoEntry: false })
  if (stat === undefined) return false
  const version = `${stat.mtimeMs} ${file}`
  const isKnown = known.get(version)
  if (isKnown !== undefined) return isKnown
  const found = hasModuleSyntax(readFileSync(file, 'utf8'))
  known.set(version, found)
  return found
}

function hasModuleSyntax(source: string): boolean {
  if (!/\b(?:import|export|await)\b/.test(source)) return false
  try {
    compileFunction(withoutTypes(source), ['exports', 'require', 'module'])
    return false
  } catch (error) {
    return isModuleSyntaxError(error)
  }
}

/** `import type` and the like are not module syntax, so they must be removed first. */
function withoutTypes(source: string): string {
  const { emitWarning } = process
  // The function is experimental, and Node would print that in the middle of the user's output.
  process.emitWarning = () => undefined
  try {
    return stripTypeScriptTypes(source)
  } finally {
    process.emitWarning = emitWarning
  }
}

const moduleSyntaxErrors: readonly string[] = [
  'Cannot use import statement outside a module',
  "Cannot use 'import.meta' outside a module",
  "Unexpected token 'export'",
  'await is only valid in async functions and the top level bodies of modules',
]

/** Whether Node could not read a file because it took it for CommonJS. */
export function isModuleSyntaxError(error: unknown): boolean {
  return error instanceof Error && moduleSyntaxErrors.includes(error.message)
}

export const moduleSyntaxHint =
  'Node takes this file for CommonJS. Set "type": "module" in its package.json, or rename it to .mjs (TypeScript: .mts).'
