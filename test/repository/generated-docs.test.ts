import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { describe, test } from 'vitest'
import { errorCodes } from '../../src/core/error-codes.ts'

const root = fileURLToPath(new URL('../..', import.meta.url))

describe('the pages that are made from code', () => {
  test('are up to date', async () => {
    const script = `${root}scripts/generate-docs.ts`
    const { stdout } = await promisify(execFile)(process.execPath, [script, '--check'])
    assert.equal(stdout, '')
  })

  test('list every error code', async () => {
    const page = await readFile(`${root}docs/errors.md`, 'utf8')
    const missing = Object.keys(errorCodes).filter((code) => !page.includes(`| \`${code}\` |`))
    assert.deepEqual(missing, [])
  })
})
