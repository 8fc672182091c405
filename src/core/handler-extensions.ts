/**
 * The extensions of a handler's file, in the order in which they are tried. A built file is preferred to its
 * source, because it is the one that would be deployed.
 */
export const handlerExtensions: readonly string[] = ['.js', '.mjs', '.cjs', '.ts', '.mts', '.cts']
