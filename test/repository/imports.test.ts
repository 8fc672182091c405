import assert from 'node:assert/strict'
import { posix } from 'node:path'
import { describe, test } from 'vitest'
import { importRules, ruleFor } from './import-rules.ts'
import { type Import, importsOf } from './imports-of.ts'
import { readRepositoryFile, sourceFiles } from './repository-files.ts'

const files = sourceFiles.map((file) => file.slice('src/'.length))

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
    const upwards = importRules.flatMap(({ part, parts, lazily = [] }, index) => {
      const above = importRules.slice(0, index).map((rule) => rule.part)
      return [...parts, ...lazily]
        .filter((name) => !above.includes(name))
        .map((name) => `${part} names ${name}`)
    })
    assert.deepEqual(upwards, [])
  })

  test('is kept by every source file', () => {
    assert.deepEqual(
      files.flatMap((file) => offences(file, readRepositoryFile(`src/${file}`))),
      [],
    )
  })

  test.each([
    ['core/limits.ts', "import { readFileSync } from 'node:fs'"],
    ['core/limits.ts', "import type { Backend } from '../backends/backend.ts'"],
    ['core/limits.ts', "type Schema = import('zod').ZodType"],
    ['backends/backend.ts', "export * from './sqlite/index.ts'"],
    ['backends/sqlite/index.ts', "import { openPostgres } from '../postgres/index.ts'"],
    ['surfaces/http-api/router.ts', "import { openSqlite } from '../../backends/sqlite/index.ts'"],
    ['surfaces/http-api/router.ts', "import { exitCodes } from '../cli/exit-codes.ts'"],
    ['app/open.ts', "import { openSqlite } from '../backends/sqlite/index.ts'"],
    ['app/open.ts', "import { virtualClock } from '../testing/virtual-clock.ts'"],
    ['app/open.ts', 'const backend = await import(name)'],
  ])('would refuse in %s: %s', (file, code) => {
    assert.equal(offences(file, code).length, 1)
  })

  test('would allow a backend that is loaded when it is needed', () => {
    const code = "const { openSqlite } = await import('../backends/sqlite/index.ts')"
    assert.deepEqual(offences('app/open.ts', code), [])
  })
})

function offences(file: string, code: string): readonly string[] {
  return importsOf(code)
    .filter((imported) => !isAllowed(file, imported))
    .map(({ from }) => `src/${file} imports ${from}`)
}

function isAllowed(file: string, { from, lazy }: Import): boolean {
  const rule = ruleFor(file)
  if (rule === undefined) return false
  if (!from.startsWith('.')) {
    return rule.outside.some((name) => (name === 'node:' ? from.startsWith(name) : from === name))
  }
  const target = ruleFor(posix.join(posix.dirname(file), from))?.part
  if (target === undefined) return false
  return (
    target === rule.part || rule.parts.includes(target) || (lazy && !!rule.lazily?.includes(target))
  )
}
