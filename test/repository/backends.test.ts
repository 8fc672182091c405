import assert from 'node:assert/strict'
import { describe, test } from 'vitest'
import { readRepositoryFile, repositoryFiles } from './repository-files.ts'

const backends = new Set(
  repositoryFiles.flatMap((file) => /^src\/backends\/([^/]+)\//.exec(file)?.[1] ?? []),
)

describe('every backend', () => {
  test('is found', () => {
    assert.ok(backends.has('sqlite'))
  })

  test.each([...backends])('%s runs the contract suite', (name) => {
    const file = `test/backends/${name}.contract.test.ts`
    assert.ok(repositoryFiles.includes(file), `${file} is missing`)
    assert.match(readRepositoryFile(file), /backend-contract/)
  })

  const opened = [...backends].filter((name) =>
    readRepositoryFile('src/app/open-backend.ts').includes(`backends/${name}/`),
  )

  test.each(opened)(
    '%s, which apps can open, is in the generated table of capabilities',
    (name) => {
      assert.match(readRepositoryFile('docs/capabilities.md'), new RegExp(`\\| ${name} \\|`))
    },
  )
})
