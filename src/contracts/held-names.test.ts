import assert from 'node:assert/strict'
import { describe, test } from 'vitest'
import { z } from 'zod'
import { defineApp } from './define-app.ts'
import { heldNamesIn } from './held-names.ts'
import { jobs } from './jobs-declaration.ts'
import { queue } from './queue-declaration.ts'
import { resolveQueues } from './resolve-queues.ts'

const { planned } = resolveQueues(
  defineApp('app', {
    queues: {
      basic: jobs({ types: { CHAT: { schema: z.unknown(), obeys: 'LLM_PAUSED' } } }),
      mail: queue({ obeys: ['MAIL_PAUSED', 'LLM_PAUSED'] }),
    },
  }),
  'dev',
)

describe('a kill switch in the environment', () => {
  test.each(['true', 'TRUE', ' 1 ', 'on', 'yes'])('is on when it is %j', (value) => {
    assert.deepEqual(heldNamesIn({ LLM_PAUSED: value }, planned), ['LLM_PAUSED'])
  })

  test.each([undefined, '', ' ', 'false', 'False', '0', 'off', 'no'])(
    'is off when it is %j',
    (value) => {
      assert.deepEqual(heldNamesIn({ LLM_PAUSED: value }, planned), [])
    },
  )

  test('is one that some queue or type obeys, and no other variable', () => {
    const environment = { MAIL_PAUSED: '1', LLM_PAUSED: '1', HOME: 'true', PATH: 'x' }
    assert.deepEqual([...heldNamesIn(environment, planned)].sort(), ['LLM_PAUSED', 'MAIL_PAUSED'])
  })

  test('is refused when it is neither, because guessing wrong runs what was to be stopped', () => {
    const environment = { LLM_PAUSED: 'ture', MAIL_PAUSED: '2' }
    assert.throws(() => heldNamesIn(environment, planned), {
      code: 'invalid_argument',
      message: [
        "LLM_PAUSED: got 'ture', expected true, 1, on, yes, or false, 0, off, no",
        "MAIL_PAUSED: got '2', expected true, 1, on, yes, or false, 0, off, no",
      ].join('\n'),
    })
  })
})
