import assert from 'node:assert/strict'
import { onTestFinished, test, vi } from 'vitest'
import { MillraceError } from '../core/millrace-error.ts'
import { type Notice, warnOf } from './notice.ts'

const refused = {
  kind: 'delivery_refused',
  queue: 'q',
  id: '7',
  receiveCount: 2,
  error: new MillraceError('invalid_message'),
} as const

test.each<[Notice, string]>([
  [
    { ...refused, fate: 'buried' },
    'Message 7 of q, received 2 times, was dead-lettered: The message does not match its contract.',
  ],
  [
    { ...refused, fate: 'left' },
    'Message 7 of q, received 2 times, stays in the queue: The message does not match its contract.',
  ],
  [
    { kind: 'sweep_failed', error: new Error('Broken.'), failures: 1, retryInMs: 2_000 },
    'The upkeep of the store failed: Broken. Next try in 2000 ms.',
  ],
  [
    { kind: 'sweep_failed', error: 'broken.', failures: 1, retryInMs: null },
    'The upkeep of the store failed: broken. It has stopped.',
  ],
])('a notice that nobody listens to becomes a warning (%#)', (notice, text) => {
  const warned = vi.spyOn(process, 'emitWarning').mockReturnValue()
  onTestFinished(() => warned.mockRestore())
  warnOf(notice)
  assert.deepEqual(warned.mock.calls, [[text, { type: 'MillraceWarning', code: notice.kind }]])
})
