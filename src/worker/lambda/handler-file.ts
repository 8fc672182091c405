/**
 * Finds the file of a handler: `src/handlers/grade.handler` names a module and its export. As on Lambda, one
 * extension after the other is tried.
 */
import { existsSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { handlerExtensions } from '../../core/handler-extensions.ts'

export interface HandlerName {
  /** The file without its extension, relative to the function's folder. */
  readonly module: string
  /** The path from the module to the function: `['a', 'b']` for `index.a.b`. */
  readonly path: readonly string[]
}

export function isHandlerName(handler: string): boolean {
  return !handler.includes('..') && /^[^.]+(?:\.[^./]+)+$/.test(basename(handler))
}

export function parseHandlerName(handler: string): HandlerName {
  const [file = '', ...path] = basename(handler).split('.')
  return { module: join(dirname(handler), file), path }
}

/** The file of a module in a folder; undefined if there is none. */
export function findModule(folder: string, module: string): string | undefined {
  const stem = join(folder, module)
  return handlerExtensions.map((extension) => stem + extension).find((file) => existsSync(file))
}
