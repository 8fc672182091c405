/**
 * The extensions of a handler's file, in the order in which they are tried. A built file is preferred to its
 * source, because it is the one that would be deployed.
 */
export const handlerExtensions: readonly string[] = ['.js', '.mjs', '.cjs', '.ts', '.mts', '.cts']

/** The file names that are tried for a module, for messages. */
export function handlerFileNames(module: string): string {
  return `${module}{${handlerExtensions.join(',')}}`
}

export interface MissingHandlerFile {
  readonly handler: string
  /** The file without its extension. */
  readonly module: string
  /** Where it was looked for, relative to the template. */
  readonly folders: readonly string[]
}

export function describeMissingFile({ handler, module, folders }: MissingHandlerFile): string {
  const places = [...new Set(folders.map((folder) => folder || '.'))].join(', ')
  return `${handlerFileNames(module)} of its handler '${handler}' is not in ${places}`
}
