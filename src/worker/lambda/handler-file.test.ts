import assert from 'node:assert/strict'
import { writeFile } from 'node:fs/promises'
import { describe, test } from 'vitest'
import { inTemporaryFolder } from '../../../test/support/temporary-folder.ts'
import { findModule, isHandlerName, parseHandlerName } from './handler-file.ts'

describe('the name of a handler', () => {
  test.each([
    ['index.handler', 'index', ['handler']],
    ['src/handlers/grade.handler', 'src/handlers/grade', ['handler']],
    ['src/v1.2/index.a.b', 'src/v1.2/index', ['a', 'b']],
    ['./dist/index.handler', 'dist/index', ['handler']],
  ])('%s is a module and a way to an export', (name, module, path) => {
    assert.ok(isHandlerName(name))
    assert.deepEqual(parseHandlerName(name), { module, path })
  })

  test.each(['', 'index', 'src/index', 'index.', '.handler', 'index..handler', '../index.handler'])(
    "'%s' is none",
    (name) => {
      assert.equal(isHandlerName(name), false)
    },
  )
})

describe('the file of a module', () => {
  test('is what was built, before what it was built from', () =>
    inTemporaryFolder('handler-file', async (folder) => {
      assert.equal(findModule(folder.path, 'index'), undefined)
      const endings = ['.cts', '.mts', '.ts', '.cjs', '.mjs', '.js']
      for (const ending of endings) {
        await writeFile(folder.file(`index${ending}`), '')
        assert.equal(findModule(folder.path, 'index'), folder.file(`index${ending}`))
      }
    }))
})
