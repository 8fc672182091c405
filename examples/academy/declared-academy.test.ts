import assert from 'node:assert/strict'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, test } from 'vitest'
import { runCli } from '../../test/support/cli-process.ts'
import { inTemporaryFolder } from '../../test/support/temporary-folder.ts'

const app = join(import.meta.dirname, 'declared-academy.ts')

/** What the command says on stdout, read as JSON. */
async function read(...args: readonly string[]): Promise<Record<string, unknown>> {
  const { code, stdout, stderr } = await runCli([...args, '--json'])
  assert.equal(code, 0, stderr)
  return JSON.parse(stdout)
}

describe('the academy, written as a template', () => {
  test.each(['cloudformation', 'sam', 'serverless'])(
    'in the form of %s goes up with the queues that the app itself has',
    async (format) => {
      await inTemporaryFolder('academy-template', async ({ file }) => {
        const { code, stdout } = await runCli([
          'template',
          'export',
          '--app',
          app,
          '--format',
          format,
        ])
        assert.equal(code, 0)
        await writeFile(file('template.yaml'), stdout)
        await read('up', file('template.yaml'), '--data', file('data'))
        await read('up', app, '--data', file('own'))
        const names = async (data: string): Promise<unknown> => {
          const { queues } = await read('queue', 'list', '--data', file(data))
          return (queues as { name: string }[]).map(({ name }) => name).toSorted()
        }
        const own = await names('own')
        assert.deepEqual(await names('data'), own)
        assert.equal((own as string[]).length, 8)
      })
    },
  )
})
