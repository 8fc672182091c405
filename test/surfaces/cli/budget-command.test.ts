/** `millrace budget`, as an operator uses it on a store, without the app. */
import assert from 'node:assert/strict'
import { describe, test } from 'vitest'
import { defineApp, open, queue } from '../../../src/index.ts'
import { assertRefused, type CliScene, cliScene } from './cli-scene.ts'

const tutor = defineApp('tutor', {
  queues: { classify: queue({ obeys: 'LLM_PAUSED' }) },
  budgets: {
    llm: { limit: 100, unit: 'tokens', per: '1d', trips: 'LLM_PAUSED' },
    mails: { limit: 5, trips: 'MAIL_PAUSED', mode: 'divert' },
  },
})

async function withBudgets(): Promise<CliScene> {
  const scene = await cliScene()
  await (await open(tutor, { data: scene.data })).close()
  return scene
}

describe('budgets', () => {
  test('are listed and shown with unit and limit', async () => {
    const { read, good } = await withBudgets()
    await good('budget', 'spend', 'llm', '12.5')
    const { budgets } = await read('budget', 'list')
    assert.deepEqual(
      budgets.map(({ name, spent, unit }: Record<string, unknown>) => [name, spent, unit]),
      [
        ['llm', 12.5, 'tokens'],
        ['mails', 0, null],
      ],
    )
    const [heading = '', row = ''] = (await good('budget', 'list')).split('\n')
    assert.match(heading, /^NAME +SPENT +LIMIT +UNIT +PER +ENDS AT +TRIPS +SCOPE$/)
    assert.match(row, /^llm +12\.5 +100 +tokens +1d +\S+Z +LLM_PAUSED +tutor\/dev$/)
    const { ends_at, ...llm } = await read('budget', 'show', 'llm')
    assert.match(ends_at, /T00:00:00\.000Z$/)
    assert.deepEqual(llm, {
      ...{ name: 'llm', spent: 12.5, limit: 100, unit: 'tokens', per: '1d', tripped: false },
      ...{ trips: 'LLM_PAUSED', mode: 'hold', scope: 'tutor/dev' },
    })
    const sheet = await good('budget', 'show', 'mails')
    assert.deepEqual(sheet.trimEnd().split('\n'), [
      'mails',
      'spent        0 of 5',
      'trips        MAIL_PAUSED (divert)',
      'declared by  tutor/dev',
    ])
  })

  test('are spent from until the switch turns on, and reset', async () => {
    const { run, read, good } = await withBudgets()
    assert.equal(await good('budget', 'spend', 'llm', '99'), 'llm: 99 of 100 tokens\n')
    const tripping = await run('budget', 'spend', 'llm', '1')
    assert.equal(tripping.stdout, 'llm: 100 of 100 tokens\n')
    assert.equal(tripping.stderr, 'The switch LLM_PAUSED is on now.\n')
    assert.match(await good('budget', 'show', 'llm'), /100 of 100 tokens, limit reached/)
    assert.equal((await read('switch', 'list')).switches.length, 1)
    const reset = ['budget', 'reset', 'llm', '--by', 'anna', '--note', 'paid']
    assert.equal(await good(...reset), 'Reset llm.\n')
    assert.equal((await read('switch', 'list')).switches.length, 0)
    assert.equal((await read('budget', 'show', 'llm')).spent, 0)
    const { resets, next } = await read('budget', 'history', 'llm')
    const [{ at: _, ...entry }] = resets
    assert.deepEqual([entry, next], [{ by: 'anna', note: 'paid', spent: 100 }, null])
    assert.match(
      await good('budget', 'history', 'llm'),
      /^AT +BY +SPENT +NOTE\n\S+Z +anna +100 +paid/,
    )
    assert.equal((await run('budget', 'history', 'mails')).stderr, 'mails was never reset.\n')
  })

  test('that do not exist, and wrong amounts, are refused', async () => {
    const scene = await withBudgets()
    const { run } = scene
    for (const verb of ['show', 'reset', 'history']) {
      assertRefused(await run('budget', verb, 'lmm'), 3, /No app declares the budget 'lmm'/)
    }
    assertRefused(await run('budget', 'show', 'lmm'), 3, /did you mean 'llm'\?/)
    assertRefused(await run('budget', 'spend', 'lmm', '1'), 3, /No app declares the budget 'lmm'/)
    assertRefused(await run('budget', 'spend', 'llm', 'much'), 2, /'much' is not an amount/)
    assertRefused(await run('budget', 'spend', 'llm', '1e16'), 2, /amount: got 10000000000000000/)
    assertRefused(await run('budget', 'spend', 'llm', '-1'), 2, /-1/)
    assert.equal((await scene.read('budget', 'show', 'llm')).spent, 0)
  })
})
