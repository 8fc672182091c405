/** Rules of the house that no compiler knows. Each test names every offender at once. */
import assert from 'node:assert/strict'
import { posix } from 'node:path'
import { describe, test } from 'vitest'
import { linksIn } from '../support/links-in.ts'
import { readRepositoryFile, repositoryFiles, sourceFiles } from './repository-files.ts'

const sourceLinesMax = 400

const codeFiles = repositoryFiles.filter((file) => /\.(?:ts|mjs|js|tsx)$/.test(file))
const textFiles = repositoryFiles.filter(
  (file) =>
    file !== 'package-lock.json' &&
    /\.(?:ts|mjs|js|tsx|md|json|ya?ml|sql|html|css)$|^\.ci\//.test(file),
)
const pages = repositoryFiles.filter((file) => file.endsWith('.md'))

/** `file:line: text` for each line that the check objects to. */
function offenders(files: readonly string[], objects: (line: string) => boolean): string[] {
  return files.flatMap((file) =>
    readRepositoryFile(file)
      .split('\n')
      .flatMap((line, index) => (objects(line) ? [`${file}:${index + 1}: ${line.trim()}`] : [])),
  )
}

/** The repository's files that a page links to. */
function linksOf(page: string): readonly string[] {
  return linksIn(readRepositoryFile(page)).map((link) => posix.join(posix.dirname(page), link))
}

describe('the code', () => {
  test('silences no checker without saying why', () => {
    const silenced = (line: string): boolean =>
      /@ts-(?:ignore|nocheck)/.test(line) ||
      /@ts-expect-error(?!:? +\S.{9})/.test(line) ||
      /biome-ignore(?!\S* [\w/]+: \w+.{8})/.test(line)
    const others = codeFiles.filter((file) => file !== 'test/repository/tidy.test.ts')
    assert.deepEqual(offenders(others, silenced), [])
  })

  test('leaves nothing to do without the number of an issue', () => {
    const loose = /\b(?:TODO|FIXME|XXX)\b(?! ?\(?#\d+)/
    const others = textFiles.filter((file) => !/^test\/repository\/tidy|^CONTRIBUTING/.test(file))
    assert.deepEqual(
      offenders(others, (line) => loose.test(line)),
      [],
    )
  })

  test('binds no numbered values, which node:sqlite counts wrongly before Node 24', () => {
    const statements = sourceFiles.filter((file) =>
      /^src\/(?:engine|backends\/sqlite)\//.test(file),
    )
    assert.ok(statements.length > 10)
    assert.deepEqual(
      offenders(statements, (line) => /[=(,<>+] *\?\d/.test(line)),
      [],
    )
  })

  test('leaves out a test only for what a backend or the machine cannot do', () => {
    const partial = (line: string): boolean =>
      /\b(?:test|it|describe|suite)\.(?:only|skip|todo)\(/.test(line) ||
      /\b(?:test|it|describe|suite)\.skipIf\((?!!can[A-Z]|.*capabilit)/.test(line)
    assert.deepEqual(offenders(codeFiles, partial), [])
  })

  test('is in files that can be read in one go', () => {
    const long = sourceFiles
      .map((file) => ({ file, lines: readRepositoryFile(file).split('\n').length - 1 }))
      .filter(({ lines }) => lines > sourceLinesMax)
    assert.deepEqual(long, [])
  })
})

describe('the repository', () => {
  test('names no place on the machine of its author', () => {
    const place = /(?<![\w.~*])\/(?:root|work|home\/\w+|Users\/\w+)\//
    assert.deepEqual(
      offenders(textFiles, (line) => place.test(line)),
      [],
    )
  })

  test('names no package registry, in the lock files neither', () => {
    const host = /\bregistry\.[a-z]+\.[a-z]+\b/
    assert.deepEqual(
      offenders([...textFiles, 'package-lock.json'], (line) => host.test(line)),
      [],
    )
    const locks = repositoryFiles.filter((file) => file.endsWith('package-lock.json'))
    assert.deepEqual(
      offenders(locks, (line) => line.includes('"resolved"')),
      [],
    )
  })

  test('exports files that the build makes', () => {
    const named = readRepositoryFile('package.json')
    const built = named.matchAll(/"\.\/dist\/([^"]+?)\.(?:d\.m?ts|m?js)"/g)
    const sources = [...built].map(([, path]) => `src/${path}.ts`)
    assert.ok(sources.length > 0)
    assert.deepEqual(
      sources.filter((file) => !sourceFiles.includes(file)),
      [],
    )
  })
})

describe('the documentation', () => {
  test('has lines of at most 110 columns, outside of tables and code', () => {
    const isPage = (file: string): boolean => /^(?:[A-Z]+|docs\/.*)\.md$/.test(file)
    const long = pages.filter(isPage).flatMap((page) => {
      const prose = readRepositoryFile(page).replaceAll(/^ *```.*?^ *```$/gms, '')
      return prose
        .split('\n')
        .filter((line) => line.length > 110 && !line.startsWith('|'))
        .map((line) => `${page}: ${line.slice(0, 60)}`)
    })
    assert.deepEqual(long, [])
  })

  test('has no link into the void', () => {
    const dead = pages.flatMap((page) =>
      linksOf(page)
        .filter((target) => !repositoryFiles.some((file) => isAt(file, target)))
        .map((target) => `${page} links to ${target}`),
    )
    assert.deepEqual(dead, [])
  })

  test('names files of the source that are there', () => {
    const named = [...readRepositoryFile('ARCHITECTURE.md').matchAll(/`([a-z-]+\/[\w./-]*)`/g)]
      .map(([, path = '']) => path)
      .filter((path) => !/^(?:src|test|docs|millrace|\.)/.test(path))
    assert.ok(named.length > 20)
    const missing = named.filter((path) => !sourceFiles.some((file) => isAt(file, `src/${path}`)))
    assert.deepEqual(missing, [])
  })

  test('can be found from the README or the index', () => {
    // A folder of pages may have an index of its own, so links are followed.
    const found = new Set(['README.md', 'docs/README.md'])
    for (const page of found) {
      for (const target of linksOf(page)) if (pages.includes(target)) found.add(target)
    }
    const lost = pages.filter((page) => page.startsWith('docs/') && !found.has(page))
    assert.deepEqual(lost, [])
  })
})

/** A link may also name a folder. */
function isAt(file: string, target: string): boolean {
  return file === target || file.startsWith(target.endsWith('/') ? target : `${target}/`)
}
