/**
 * Removes declarations that no entry of the package uses. They cannot be imported, and would be half of the
 * download.
 */
import { readdirSync, readFileSync, rmSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'

const importPattern = /(?:from|import)\s*\(?\s*'(\.[^']+)'/g

/** Returns the number of removed files. */
export function pruneDeclarations(folder: string, entries: readonly string[]): number {
  const reached = new Set<string>()
  const waiting = entries.map((entry) => resolve(folder, entry))
  for (let file = waiting.pop(); file !== undefined; file = waiting.pop()) {
    if (reached.has(file)) continue
    reached.add(file)
    for (const [, path = ''] of readFileSync(file, 'utf8').matchAll(importPattern)) {
      waiting.push(resolve(dirname(file), path.replace(/\.[jt]s$/, '.d.ts')))
    }
  }
  const all = readdirSync(folder, { recursive: true, encoding: 'utf8' })
  const lost = all.filter((file) => file.endsWith('.d.ts') && !reached.has(resolve(folder, file)))
  for (const file of lost) rmSync(join(folder, file))
  return lost.length
}
