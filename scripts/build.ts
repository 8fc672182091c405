/**
 * Builds the package: JavaScript and declarations in `dist/`. `npm run build` runs it, and npm runs it before
 * the package is packed.
 */
import { spawnSync } from 'node:child_process'
import { chmodSync, readFileSync, rmSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { emitJavaScript, entries } from './emit-javascript.ts'
import { pruneDeclarations } from './prune-declarations.ts'

const root = fileURLToPath(new URL('..', import.meta.url))
const bin = `${root}dist/cli.js`

// Files whose source was deleted must not stay in the package.
rmSync(`${root}dist`, { recursive: true, force: true })

const tsc = `${root}node_modules/typescript/bin/tsc`
const { status } = spawnSync(process.execPath, [tsc, '-p', 'tsconfig.build.json'], {
  cwd: root,
  stdio: 'inherit',
})
if (status !== 0) process.exit(status ?? 1)
pruneDeclarations(
  `${root}dist`,
  entries.map((entry) => `${entry}.d.ts`),
)
await emitJavaScript(`${root}dist`)

if (!readFileSync(bin, 'utf8').startsWith('#!/usr/bin/env node\n')) {
  console.error('dist/cli.js does not begin with its shebang line')
  process.exit(1)
}
chmodSync(bin, 0o755)
