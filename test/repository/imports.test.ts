import assert from 'node:assert/strict'
import { posix } from 'node:path'
import { describe, test } from 'vitest'
import { importCycles } from './import-cycles.ts'
import { type ImportRule, importRules, ruleFor } from './import-rules.ts'
import { type Import, importsOf } from './imports-of.ts'
import { readRepositoryFile, sourceFiles } from './repository-files.ts'

const files = sourceFiles.map((file) => file.slice('src/'.length))

const imports: ReadonlyMap<string, readonly Import[]> = new Map(
  files.map((file) => [file, importsOf(readRepositoryFile(`src/${file}`))]),
)

describe('who may import whom', () => {
  test('has a rule for every source file', () => {
    assert.deepEqual(
      files.filter((file) => ruleFor(file) === undefined),
      [],
    )
  })

  test('has no rule for what is not there', () => {
    const used = new Set(files.map((file) => ruleFor(file)?.part))
    assert.deepEqual(
      importRules.filter(({ part }) => !used.has(part)).map(({ part }) => part),
      [],
    )
  })

  test('points one way', () => {
    const upwards = importRules.flatMap(({ part, parts, lazily = [], types = [] }, index) => {
      const above = importRules.slice(0, index).map((rule) => rule.part)
      return [...parts, ...lazily, ...types]
        .filter((name) => !above.includes(name))
        .map((name) => `${part} names ${name}`)
    })
    assert.deepEqual(upwards, [])
  })

  test('is kept by every source file', () => {
    assert.deepEqual(
      [...imports].flatMap(([file, found]) => offences(file, found)),
      [],
    )
  })

  test('grants nothing that is not used', () => {
    assert.deepEqual(unusedGrants(importRules, imports), [])
  })

  test.each([
    [{ parts: ['core', 'contracts'], outside: [] }, 'jobs may import contracts, and does not'],
    [{ parts: ['core'], outside: ['zod'] }, 'jobs may import zod, and does not'],
    [{ parts: [], lazily: ['core'], outside: [] }, 'jobs may import core lazily, and does not'],
    [{ parts: [], types: ['flows'], outside: [] }, 'jobs may import types of flows, and does not'],
  ])('would refuse an unused grant: %j', (grants, offence) => {
    const found = new Map([
      ['jobs/job.ts', importsOf("import { limits } from '../core/limits.ts'")],
    ])
    assert.deepEqual(unusedGrants([{ part: 'jobs', ...grants }], found), [offence])
  })

  test.each([
    ['core/limits.ts', "import { readFileSync } from 'node:fs'"],
    ['core/limits.ts', "import type { Backend } from '../backends/backend.ts'"],
    ['core/limits.ts', "type Schema = import('zod').ZodType"],
    ['backends/backend.ts', "export * from './sqlite/index.ts'"],
    ['backends/sqlite/index.ts', "import { openPostgres } from '../postgres/index.ts'"],
    ['surfaces/http-api/router.ts', "import { openSqlite } from '../../backends/sqlite/index.ts'"],
    ['surfaces/http-api/router.ts', "import { exitCodes } from '../cli/exit-codes.ts'"],
    ['surfaces/http-api/router.ts', "import { checking } from '../../backends/checking.ts'"],
    ['surfaces/cli/router.ts', "import { openBackend } from '../../app/open-backend.ts'"],
    ['surfaces/cli/router.ts', "const { serve } = await import('../../server.ts')"],
    ['server/serve.ts', "const { openSqlite } = await import('../backends/sqlite/index.ts')"],
    ['app/open.ts', "import { openSqlite } from '../backends/sqlite/index.ts'"],
    ['app/open.ts', "import { virtualClock } from '../testing/virtual-clock.ts'"],
    ['app/open.ts', 'const backend = await import(name)'],
  ])('would refuse in %s: %s', (file, code) => {
    assert.equal(offences(file, importsOf(code)).length, 1)
  })

  test.each([
    ['app/open-backend.ts', "const { openSqlite } = await import('../backends/sqlite/index.ts')"],
    ['surfaces/cli/router.ts', "import type { Backend } from '../../backends/backend.ts'"],
    ['surfaces/cli/router.ts', "type Server = typeof import('../../server.ts')"],
  ])('would allow in %s: %s', (file, code) => {
    assert.deepEqual(offences(file, importsOf(code)), [])
  })
})

describe('files that import each other', () => {
  test('are not there, also for types', () => {
    assert.deepEqual(importCycles(graphOf(imports)), [])
  })

  test.each([
    ["import { b } from './b.ts'", "import type { A } from './a.ts'", [['a.ts', 'b.ts']]],
    ["import { b } from './b.ts'", "export * from './c.ts'", [['a.ts', 'b.ts', 'c.ts']]],
    ["import { b } from './b.ts'", "const { a } = await import('./a.ts')", []],
    ["import { b } from './b.ts'", "import { readFile } from 'node:fs'", []],
  ])('would be found: %s and %s', (a, b, cycles) => {
    const code = { 'a.ts': a, 'b.ts': b, 'c.ts': "import './a.ts'" }
    const found = Object.entries(code).map(([file, text]) => [file, importsOf(text)] as const)
    assert.deepEqual(importCycles(graphOf(new Map(found))), cycles)
  })
})

function graphOf(
  found: ReadonlyMap<string, readonly Import[]>,
): ReadonlyMap<string, readonly string[]> {
  const edges = [...found].map(([file, some]) => {
    const eager = some.filter(({ from, lazy }) => from.startsWith('.') && !lazy)
    return [file, eager.map(({ from }) => targetOf(file, from))] as const
  })
  return new Map(edges)
}

function targetOf(file: string, from: string): string {
  return posix.join(posix.dirname(file), from)
}

function unusedGrants(
  rules: readonly ImportRule[],
  found: ReadonlyMap<string, readonly Import[]>,
): readonly string[] {
  return rules.flatMap(({ part, parts, lazily = [], types = [], outside }) => {
    const used = [...found]
      .filter(([file]) => ruleFor(file)?.part === part)
      .flatMap(([file, some]) => some.map((one) => ({ ...one, name: nameOf(file, one) })))
    const isUsed = (name: string, { isLazy = false } = {}): boolean =>
      used.some((one) => one.name === name && (one.lazy || !isLazy))
    return [
      ...[...parts, ...outside].filter((name) => !isUsed(name)),
      ...lazily.filter((name) => !isUsed(name, { isLazy: true })).map((name) => `${name} lazily`),
      ...types.filter((name) => !isUsed(name)).map((name) => `types of ${name}`),
    ].map((grant) => `${part} may import ${grant}, and does not`)
  })
}

/** As rules name what is imported. */
function nameOf(file: string, { from }: Import): string | undefined {
  if (from.startsWith('.')) return ruleFor(targetOf(file, from))?.part
  return from.startsWith('node:') ? 'node:' : from
}

function offences(file: string, found: readonly Import[]): readonly string[] {
  return found
    .filter((imported) => !isAllowed(file, imported))
    .map(({ from }) => `src/${file} imports ${from}`)
}

function isAllowed(file: string, imported: Import): boolean {
  const rule = ruleFor(file)
  const name = nameOf(file, imported)
  if (rule === undefined || name === undefined) return false
  if (!imported.from.startsWith('.')) return rule.outside.includes(name)
  return (
    name === rule.part ||
    rule.parts.includes(name) ||
    (imported.lazy && rule.lazily?.includes(name) === true) ||
    (imported.typesOnly && rule.types?.includes(name) === true)
  )
}
