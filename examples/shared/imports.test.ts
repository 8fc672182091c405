/** Examples are for copying, so they import the package by its name, as a project does. */
import assert from 'node:assert/strict'
import { test } from 'vitest'
import { importsOf } from '../../test/repository/imports-of.ts'
import { readRepositoryFile, repositoryFiles } from '../../test/repository/repository-files.ts'

const examples = repositoryFiles.filter((file) => /^examples\/.*\.ts$/.test(file))
const isTest = (file: string): boolean => /\.test\.ts$|\/test\//.test(file)

/** `file: import` for each import of these files that fits the pattern. */
function importing(pattern: RegExp, files: readonly string[]): readonly string[] {
  return files.flatMap((file) =>
    importsOf(readRepositoryFile(file))
      .filter(({ from }) => pattern.test(from))
      .map(({ from }) => `${file}: ${from}`),
  )
}

test('examples import no source file of the package', () => {
  const ownName = /^examples\/(?:millrace\/|shared\/not-public\.ts$)/
  const others = examples.filter((file) => !ownName.test(file))
  assert.deepEqual(importing(/\/src\//, others), [])
})

test('only tests import internals and test support', () => {
  const programs = examples.filter((file) => !isTest(file))
  assert.deepEqual(importing(/not-public\.ts$|\/test\/support\//, programs), [])
})
