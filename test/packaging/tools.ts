/**
 * Tools of users' projects that this one does not use: Jest, an older TypeScript, the oldest Node that is
 * supported. They are installed when the tests of the package run, and kept for the next run.
 */
import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync } from 'node:fs'
import { copyFile, mkdir, mkdtemp, readFile, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

const execute = promisify(execFile)
const root = fileURLToPath(new URL('../..', import.meta.url))
const declared = fileURLToPath(new URL('tools', import.meta.url))
const files = ['package.json', 'package-lock.json']

const { platform, arch, versions } = process
const lock = await readFile(join(declared, 'package-lock.json'))
const key = createHash('sha256').update(`${platform} ${arch} `).update(lock).digest('hex')
const cache = join(root, 'node_modules/.cache/millrace-packaging')
const installed = join(cache, key.slice(0, 16))
const modules = join(installed, 'node_modules')

export const jest: string = join(modules, 'jest/bin/jest.js')
export const tsJest: string = join(modules, 'ts-jest')
export const jestGlobals: string = join(modules, '@jest/globals')

/** Compilers by version: projects of users may have either. */
export const compilers: Readonly<Record<string, string>> = {
  'TypeScript 5.9': join(modules, 'typescript/bin/tsc'),
  'TypeScript 7': join(root, 'node_modules/typescript/bin/tsc'),
}

export interface NodeVersion {
  readonly version: string
  readonly path: string
}

/** npm has this version for Linux and for Macs with Intel processors. */
const canRunOldest = platform === 'linux' || (platform === 'darwin' && arch === 'x64')
const oldest = { version: '22.18', path: join(modules, `node-${platform}-${arch}/bin/node`) }
const isCurrent = versions.node.startsWith('24.')
const current = {
  version: '24',
  path: isCurrent ? process.execPath : join(root, 'node_modules/node/bin/node'),
}

/** The versions of Node that the package promises to run on. */
export const nodes: readonly NodeVersion[] = canRunOldest ? [oldest, current] : [current]

export async function installTools(): Promise<void> {
  if (existsSync(installed)) return
  // What an older lock file asked for is not needed again.
  await rm(cache, { recursive: true, force: true })
  await mkdir(cache, { recursive: true })
  const staging = await mkdtemp(join(cache, 'new-'))
  for (const file of files) await copyFile(join(declared, file), join(staging, file))
  const options = ['--ignore-scripts', '--no-audit', '--no-fund', '--prefer-offline']
  await execute('npm', ['ci', ...options], { cwd: staging })
  // An install that was interrupted must not look like a whole one.
  await rename(staging, installed)
}
