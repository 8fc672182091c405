/** The files of the repository, found without git, so that a plain copy can be checked as well. */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

export const root: string = fileURLToPath(new URL('../..', import.meta.url))

/** What others made, or what a run left behind. */
const foreign: ReadonlySet<string> = new Set([
  '.git',
  '.millrace',
  '.test-data',
  'dist',
  'node_modules',
])

/** Paths from the root, with `/` between their parts. */
export const repositoryFiles: readonly string[] = filesIn('')

/** Files below `src/`, without their tests. */
export const sourceFiles: readonly string[] = repositoryFiles.filter(
  (file) => /^src\/.*\.ts$/.test(file) && !/\.test(?:-d)?\.ts$/.test(file),
)

export function readRepositoryFile(file: string): string {
  return readFileSync(join(root, file), 'utf8')
}

function filesIn(folder: string): readonly string[] {
  return readdirSync(join(root, folder), { withFileTypes: true })
    .filter(({ name }) => !foreign.has(name))
    .flatMap((entry) => {
      const path = folder === '' ? entry.name : `${folder}/${entry.name}`
      if (entry.isDirectory()) return filesIn(path)
      return entry.isFile() ? [path] : []
    })
}
