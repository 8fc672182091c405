/** `millrace switch`, as an operator uses it beside running workers. */
import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { describe, test } from 'vitest'
import { z } from 'zod'
import { defineApp, jobs, open } from '../../src/index.ts'
import { type Ended, runCli } from '../support/cli-process.ts'
import { inTemporaryFolder } from '../support/temporary-folder.ts'

const app = defineApp('tutor', {
  queues: { classify: jobs({ types: { CLASSIFY: z.string() }, obeys: 'LLM_PAUSED' }) },
})

const onPaused = ['--name', 'LLM_PAUSED']

function switchIn(data: string): (...args: readonly string[]) => Promise<Ended> {
  return (...args) => runCli(['switch', ...args, '--data', data])
}

describe('the command for kill switches', () => {
  test('stops a running worker within a second, and lets it go on', () =>
    inTemporaryFolder('switch', async (folder) => {
      const data = folder.file('data')
      const run = switchIn(data)
      await using mill = await open(app, { data })
      mill.worker({ poll: ['classify'], handle: { CLASSIFY: (text) => text.length } }).start()
      const first = await mill.jobs.enqueue('classify', 'CLASSIFY', 'one')
      assert.equal((await mill.jobs.waitFor(first.id)).status, 'completed')

      const held = await run('hold', ...onPaused, '--by', 'anna', '--note', 'down', '--json')
      assert.equal(held.code, 0, held.stderr)
      const [{ scope, value, mode, by, note }] = JSON.parse(held.stdout)
      assert.deepEqual(
        [scope, value, mode, by, note],
        ['name', 'LLM_PAUSED', 'hold', 'anna', 'down'],
      )
      const second = await mill.jobs.enqueue('classify', 'CLASSIFY', 'two')
      const late = mill.jobs.waitFor(second.id, { timeout: '1s' })
      await assert.rejects(late, { code: 'wait_timed_out' })
      assert.match((await run('list')).stdout, /value=LLM_PAUSED {2}mode=hold {2}by=anna/)

      assert.equal((await run('lift', ...onPaused, '--by', 'bob')).code, 0)
      const { status, attemptsMade } = await mill.jobs.waitFor(second.id)
      assert.deepEqual([status, attemptsMade], ['completed', 1])
      const { stdout } = await run('history', '--json')
      const events = JSON.parse(stdout).map((one: Record<string, string>) => [
        one['event'],
        one['by'],
      ])
      assert.deepEqual(events, [
        ['lifted', 'bob'],
        ['set', 'anna'],
      ])
    }))

  test('says by its exit code what was wrong', () =>
    inTemporaryFolder('switch-wrong', async (folder) => {
      const data = folder.file('data')
      const run = switchIn(data)
      const nowhere = await run('list')
      assert.equal(nowhere.code, 6)
      assert.match(nowhere.stderr, /^error: There is no store in .*\n$/)
      assert.equal(existsSync(data), false)

      await (await open(app, { data })).close()
      const attempts: readonly (readonly [code: number, args: readonly string[]])[] = [
        [2, ['hold']],
        [2, ['hold', '--type', 'A', '--tier', 'b']],
        [2, ['hold', '--type', 'A', '--for', 'soon']],
        [2, ['flip']],
        [2, ['history', '--limit', '0']],
        [3, ['hold', '--queue', 'nope']],
        [3, ['lift', ...onPaused]],
      ]
      for (const [code, args] of attempts) {
        const ended = await run(...args)
        assert.equal(ended.code, code, `${args.join(' ')}: ${ended.stderr}`)
        assert.notEqual(ended.stderr, '')
        assert.equal(ended.stdout, '')
      }
    }))
})
