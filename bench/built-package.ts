/** Builds the package as users install it, into a folder of the benchmark, with linked dependencies. */
import { copyFileSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { emitJavaScript } from '../scripts/emit-javascript.ts'

export const root: string = fileURLToPath(new URL('..', import.meta.url))

/** Builds into `dist` in the folder and returns that path. */
export async function buildPackage(folder: string): Promise<string> {
  const dist = join(folder, 'dist')
  await emitJavaScript(dist)
  // The package reads its version and resolves its dependencies from the parent folder.
  copyFileSync(join(root, 'package.json'), join(folder, 'package.json'))
  symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'))
  return dist
}
