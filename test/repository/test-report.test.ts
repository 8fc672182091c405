/** What `npm test` says at its end, from a report of Vitest. */
import assert from 'node:assert/strict'
import { symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { test } from 'vitest'
import { startCommand } from '../support/cli-process.ts'
import { inTemporaryFolder, type TemporaryFolder } from '../support/temporary-folder.ts'

const root = fileURLToPath(new URL('../..', import.meta.url))

const tests = `
  import { describe, test } from 'vitest'
  let tries = 0
  describe('a walk', () => {
    test('is flaky', () => {
      tries += 1
      if (tries === 1) throw new Error('MILLRACE_SEED=7, after\\nopen')
    })
    test('fails', () => {
      throw new Error('wrong')
    })
    test('passes', () => undefined)
    test('is skipped', ({ skip }) => skip())
  })`

interface Report {
  readonly passed: number
  readonly failed: number
  readonly skipped: number
  readonly lines: readonly string[]
}

/** Runs Vitest on two files, one of which cannot be loaded, and reads its report. */
async function reportOf({ path, file }: TemporaryFolder): Promise<Report> {
  await symlink(join(root, 'node_modules'), file('node_modules'))
  await writeFile(file('walks.test.ts'), tests)
  await writeFile(file('broken.test.ts'), 'throw new Error("unreadable")')
  const output = file('report.json')
  const vitest = join(root, 'node_modules/vitest/vitest.mjs')
  const options = ['--retry=1', '--reporter=json', `--outputFile=${output}`]
  const { ended } = startCommand(process.execPath, [vitest, 'run', '--root', path, ...options])
  assert.equal((await ended).code, 1)
  const { readReport } = await import(`${root}/scripts/test-report.mjs`)
  return readReport(output, path)
}

test('the report of a run names failed and flaky tests with the beginning of their errors', () =>
  inTemporaryFolder('report', async (folder) => {
    const { lines, ...counts } = await reportOf(folder)
    assert.deepEqual(counts, { passed: 2, failed: 2, skipped: 1 })
    const place = /^ {4} {4}at .*walks\.test\.ts:\d+/
    assert.deepEqual(
      lines.filter((line) => !place.test(line)),
      [
        'FAILED broken.test.ts',
        '    unreadable',
        'FAILED walks.test.ts: a walk > fails',
        '    Error: wrong',
        'FLAKY walks.test.ts: a walk > is flaky',
        '    Error: MILLRACE_SEED=7, after',
        '    open',
      ],
    )
    assert.equal(lines.filter((line) => place.test(line)).length, 2)
  }))

test('a report that was never written counts nothing', async () => {
  const { readReport } = await import(`${root}/scripts/test-report.mjs`)
  assert.deepEqual(readReport('/nowhere', root), { passed: 0, failed: 0, skipped: 0, lines: [] })
})
