/** Groups of files that import each other in a circle, so that none of them can be read first. */
export type ImportGraph = ReadonlyMap<string, readonly string[]>

/** Each group once, its files in the order of their names. */
export function importCycles(graph: ImportGraph): readonly (readonly string[])[] {
  const reached = new Map([...graph.keys()].map((file) => [file, reachableFrom(graph, file)]))
  const isWith = (one: string, other: string): boolean =>
    reached.get(one)?.has(other) === true && reached.get(other)?.has(one) === true
  const files = [...graph.keys()].filter((file) => isWith(file, file)).sort()
  return files
    .map((file) => files.filter((other) => isWith(file, other)))
    .filter((group, index) => group[0] === files[index])
}

/** Without the file itself, unless a way leads back to it. */
function reachableFrom(graph: ImportGraph, file: string): ReadonlySet<string> {
  const found = new Set<string>()
  const open = [...(graph.get(file) ?? [])]
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    if (found.has(next)) continue
    found.add(next)
    open.push(...(graph.get(next) ?? []))
  }
  return found
}
