import assert from 'node:assert/strict'
import { describe, test } from 'vitest'
import { platform } from '../../platform.ts'
import type { InvocationReport } from '../../server/dev.ts'
import { DevLog } from './dev-log.ts'
import { outputOf, processShell, type Shell } from './shell.ts'

const clean: InvocationReport = {
  function: 'greet',
  queue: 'greetings',
  requestId: 'r-1',
  status: 'succeeded',
  durationMs: 2,
  billedMs: 2,
  initMs: null,
  memoryUsedMb: 64,
  error: null,
  records: 1,
  acknowledged: 1,
  left: 0,
  lost: 0,
  problem: null,
}

function lineOf(report: InvocationReport): string {
  let text = ''
  const write = (part: string): void => {
    text += part
  }
  const err = { isTerminal: false, columns: Number.POSITIVE_INFINITY, write }
  const shell: Shell = { ...processShell(platform), err }
  new DevLog({ flags: {}, output: outputOf(shell, 'never'), shell }).invocation(report)
  return text
}

describe('the line of an invocation', () => {
  test.each<[string, Partial<InvocationReport>, string]>([
    ['is done', {}, 'done: 1 of 1 message, 2.0 ms'],
    [
      'has started its environment',
      { records: 2, acknowledged: 2, initMs: 31.4 },
      'done: 2 of 2 messages, 2.0 ms, started in 31 ms',
    ],
    [
      'reports items that failed',
      { records: 3, acknowledged: 2, left: 1 },
      'partly failed: 2 of 3 messages done, 2.0 ms, 1 will be retried',
    ],
    [
      'answers what cannot be used',
      { acknowledged: 0, left: 1, problem: 'The answer names no message.' },
      'partly failed: 0 of 1 message done, 2.0 ms, 1 will be retried, The answer names no message.',
    ],
    [
      'fails',
      { status: 'failed', acknowledged: 0, left: 1 },
      'failed: 0 of 1 message done, 2.0 ms, 1 will be retried',
    ],
    [
      'takes too long',
      { status: 'timed_out', records: 2, acknowledged: 0, left: 2 },
      'timed out: 0 of 2 messages done, 2.0 ms, 2 will be retried',
    ],
  ])('that %s says so', (_name, report, text) => {
    assert.equal(lineOf({ ...clean, ...report }), `greet r-1 ${text}\n`)
  })
})
