/** What pages give to be typed into a shell works in a shell that has nothing set. */
import assert from 'node:assert/strict'
import { describe, test } from 'vitest'
import { readRepositoryFile, repositoryFiles } from './repository-files.ts'

const block = /^```\w*\n([\s\S]*?)^```$/gm

const needed = ['AWS_DEFAULT_REGION=', 'AWS_ACCESS_KEY_ID=', 'AWS_SECRET_ACCESS_KEY=']

describe('a call of the aws command on a page', () => {
  test('has the region and the credentials before it', () => {
    const calls = repositoryFiles
      .filter((file) => file.endsWith('.md'))
      .flatMap((file) =>
        [...readRepositoryFile(file).matchAll(block)].map(([, text = '']) => ({ file, text })),
      )
      .filter(({ text }) => /^aws /m.test(text))
    assert.ok(calls.length > 2)
    for (const { file, text } of calls) {
      const [before = ''] = text.split(/^aws /m)
      const missing = needed.filter((variable) => !before.includes(variable))
      assert.deepEqual(missing, [], file)
    }
  })
})
