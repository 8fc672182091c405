/**
 * Where a handler lives: `src/handlers/grade.handler` names a module and what it exports. The file is
 * found as Lambda finds it, by trying one ending after the other.
 */
import { existsSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'

export interface HandlerName {
  /** The file without its ending, relative to the function's folder. */
  readonly module: string
  /** The way from the module to the function: `['a', 'b']` for `index.a.b`. */
  readonly path: readonly string[]
}

/** A built file goes before its source, as it would be the one that is deployed. */
const endings: readonly string[] = ['.js', '.mjs', '.cjs', '.ts', '.mts', '.cts']

export function isHandlerName(handler: string): boolean {
  return !handler.includes('..') && /^[^.]+(?:\.[^./]+)+$/.test(basename(handler))
}

export function parseHandlerName(handler: string): HandlerName {
  const [file = '', ...path] = basename(handler).split('.')
  return { module: join(dirname(handler), file), path }
}

/** The file of a module in a folder; undefined when there is none. */
export function findModule(folder: string, module: string): string | undefined {
  const stem = join(folder, module)
  return endings.map((ending) => stem + ending).find((file) => existsSync(file))
}

/** What a missing module was looked for as, for the error about it. */
export function lookedFor(module: string): string {
  return `${module}{${endings.join(',')}}`
}
