/** The package as users install it: built into a folder of the bench, with its dependencies linked. */
import { spawnSync } from 'node:child_process'
import { copyFileSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

export const root: string = fileURLToPath(new URL('..', import.meta.url))

/** Builds into `dist` in the folder and returns that path. */
export function buildPackage(folder: string): string {
  const dist = join(folder, 'dist')
  const tsc = join(root, 'node_modules/typescript/bin/tsc')
  const build = [tsc, '-p', 'tsconfig.build.json', '--outDir', dist, '--removeComments']
  const noDeclarations = ['--declaration', 'false', '--isolatedDeclarations', 'false']
  const { status } = spawnSync(process.execPath, [...build, ...noDeclarations], {
    cwd: root,
    stdio: 'inherit',
  })
  if (status !== 0) throw new Error('The package could not be built.')
  // The package reads its version, and resolves its dependencies, from the folder above.
  copyFileSync(join(root, 'package.json'), join(folder, 'package.json'))
  symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'))
  return dist
}
