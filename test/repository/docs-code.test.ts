/**
 * The TypeScript in the documentation is code like any other: every block marked `ts` is type-checked
 * against the sources, and runs with what is built of them, as for users. A block marked `ts run` also runs, one marked `ts postgres` runs with an empty database
 * in DATABASE_URL, and one marked `ts vitest` runs in Vitest. A block may name its file in its first line
 * (`// academy.ts`); other blocks of the same page then import it.
 */
import assert from 'node:assert/strict'
import { type ExecFileException, execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { mkdir, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, test } from 'vitest'
import { emitJavaScript } from '../../scripts/emit-javascript.ts'
import { freshDatabase } from '../services/fresh-database.ts'
import { childVariables } from '../support/child-variables.ts'

const root = fileURLToPath(new URL('../..', import.meta.url))
// The process id keeps two runs in one checkout apart.
const vitest = join(root, 'node_modules/vitest/vitest.mjs')
const folder = join(root, '.test-data', `docs-code-${process.pid}`)

type Runs = 'by node' | 'on Postgres' | 'by vitest'

const marks: Readonly<Record<string, Runs>> = {
  run: 'by node',
  postgres: 'on Postgres',
  vitest: 'by vitest',
}

interface Block {
  /** Page and line, for the reader of a failure. */
  readonly place: string
  readonly file: string
  readonly code: string
  readonly runs: Runs | undefined
}

const blocks = (await pages()).flatMap(({ page, text }) => blocksOf(page, text))

beforeAll(async () => {
  await writePackage()
  for (const { file, code } of blocks) {
    await mkdir(dirname(file), { recursive: true })
    await writeFile(file, `${code}\nexport {}\n`)
  }
})

afterAll(() => rm(folder, { recursive: true, force: true }))

describe('the code in the documentation', () => {
  test('exists', () => {
    assert.ok(blocks.length > 0)
  })

  test('has correct types', async () => {
    const tsc = join(root, 'node_modules/typescript/bin/tsc')
    // Other tests keep the other processors busy; several checkers would do some work twice.
    const options = ['--noEmit', '--singleThreaded', '--project', folder]
    const { output } = await node([tsc, ...options], root)
    assert.equal(output, '')
  })

  const runnable = blocks.filter(({ runs }) => runs !== undefined)
  test.each(runnable)('at $place runs $runs', async ({ file, runs }) => {
    const workplace = `${file}.workplace`
    // A second try finds that of the first.
    await rm(workplace, { recursive: true, force: true })
    await mkdir(workplace)
    // Users have Vitest's own timeout of five seconds, which is short on a busy machine.
    const options = ['--root', dirname(file), '--testTimeout=100000']
    const inVitest = [vitest, 'run', ...options, basename(file)]
    const args = runs === 'by vitest' ? inVitest : [file]
    const env = runs === 'on Postgres' ? { DATABASE_URL: (await freshDatabase()).url } : {}
    const { code, output } = await node(args, workplace, env)
    assert.equal(code, 0, output)
  })
})

async function pages(): Promise<readonly { readonly page: string; readonly text: string }[]> {
  const inDocs = await readdir(join(root, 'docs'), { recursive: true })
  const names = [
    ...['README.md', 'ARCHITECTURE.md'].filter((name) => existsSync(join(root, name))),
    ...inDocs.filter((name) => name.endsWith('.md')).map((name) => join('docs', name)),
  ]
  return Promise.all(
    names.sort().map(async (page) => ({ page, text: await readFile(join(root, page), 'utf8') })),
  )
}

function blocksOf(page: string, text: string): readonly Block[] {
  return [...text.matchAll(/^```ts(?: (run|postgres|vitest))?\n(.*?)^```$/gms)].map((match) => {
    const [, mark, code = ''] = match
    const line = text.slice(0, match.index).split('\n').length + 1
    const [, name = `line-${line}.ts`] = /^\/\/ ([a-z0-9.-]+\.ts)\n/.exec(code) ?? []
    const file = join(folder, page.replaceAll(/[^\w-]/g, '_'), name)
    return {
      place: `${page}:${line}`,
      file,
      code,
      runs: mark === undefined ? undefined : marks[mark],
    }
  })
}

/** `millrace` as its users import it, with the sources in place of the declarations. */
async function writePackage(): Promise<void> {
  const published = join(folder, 'node_modules', 'millrace')
  await mkdir(published, { recursive: true })
  await symlink(join(root, 'src'), join(published, 'src'), 'dir')
  await emitJavaScript(join(published, 'dist'))
  const manifest = await readFile(join(root, 'package.json'), 'utf8')
  const withSources = manifest.replaceAll(/\.\/dist\/([\w/-]+)\.d\.m?ts"/g, './src/$1.ts"')
  await writeFile(join(published, 'package.json'), withSources)
  await writeFile(join(folder, 'package.json'), '{ "type": "module", "private": true }')
  const config = {
    extends: '../../tsconfig.json',
    // A reader wants to see the value that a line makes, used or not.
    compilerOptions: { noUnusedLocals: false },
    include: ['*/*.ts'],
  }
  await writeFile(join(folder, 'tsconfig.json'), JSON.stringify(config))
}

interface Ended {
  readonly code: number
  readonly output: string
}

function node(
  args: readonly string[],
  cwd: string,
  variables: Readonly<Record<string, string>> = {},
): Promise<Ended> {
  return new Promise((resolve) => {
    const end = (error: ExecFileException | null, stdout: string, stderr: string): void =>
      resolve({ code: error === null ? 0 : Number(error.code ?? 1), output: stdout + stderr })
    // What is compiled of this package is of no use to the next run.
    const cache = { NODE_COMPILE_CACHE: join(folder, 'compiled') }
    const env = { ...childVariables, ...cache, ...variables }
    execFile(process.execPath, [...args], { cwd, env, timeout: 150_000 }, end)
  })
}
