import assert from 'node:assert/strict'
import { readdir, stat } from 'node:fs/promises'
import { relative } from 'node:path'
import { describe, test } from 'vitest'
import { inTemporaryFolder } from '../../test/support/temporary-folder.ts'
import { prepareDataDirectory, removeEmpty } from './data-directory.ts'

describe('a data directory', () => {
  test('is created with the directories above it, for its owner only', () =>
    inTemporaryFolder('data', async (folder) => {
      const { path, file } = await prepareDataDirectory(folder.file('a/b/c'))
      assert.equal(path, folder.file('a/b/c'))
      assert.equal(file, folder.file('a/b/c/millrace.db'))
      assert.equal((await stat(path)).mode & 0o777, 0o700)
    }))

  test('is named by its absolute path and may exist already', () =>
    inTemporaryFolder('data', async (folder) => {
      const { path } = await prepareDataDirectory(relative(process.cwd(), folder.path))
      assert.equal(path, folder.path)
    }))

  test('may be made by two callers at once', () =>
    inTemporaryFolder('data', async (folder) => {
      const place = folder.file('x/y/z')
      await Promise.all([1, 2, 3, 4].map(() => prepareDataDirectory(place)))
      assert.ok((await stat(place)).isDirectory())
    }))

  test('says what it made, and leaves none of it when it cannot be made', () =>
    inTemporaryFolder('data', async (folder) => {
      const { made } = await prepareDataDirectory(folder.file('a/b'))
      assert.deepEqual(made, [folder.file('a'), folder.file('a/b')])
      assert.deepEqual((await prepareDataDirectory(folder.file('a'))).made, [])
      const place = folder.file(`x/${'n'.repeat(300)}`)
      await assert.rejects(prepareDataDirectory(place), { code: 'store_unusable' })
      await removeEmpty(made)
      assert.deepEqual(await readdir(folder.path), [])
    }))
})
