import assert from 'node:assert/strict'
import { onTestFinished, test, vi } from 'vitest'
import { MillraceError } from '../core/millrace-error.ts'
import { logOf, type Notice, warnOf } from './notice.ts'

const refused = {
  kind: 'delivery_refused',
  queue: 'q',
  id: '7',
  receiveCount: 2,
  error: new MillraceError('invalid_message'),
} as const

const firing: Notice = {
  kind: 'alarm',
  alarm: 'q-dlq-not-empty',
  state: 'ALARM',
  was: 'OK',
  severity: 'critical',
  metric: 'ApproximateNumberOfMessagesVisible',
  of: 'q-dlq',
  threshold: 0,
  reason: '1 message.',
}

test('an alarm that does not ring is nothing to be warned of', () => {
  const warned = vi.spyOn(process, 'emitWarning').mockReturnValue()
  onTestFinished(() => warned.mockRestore())
  warnOf({ ...firing, state: 'OK', was: 'ALARM' })
  assert.deepEqual(warned.mock.calls, [])
})

test('the log says in words what became of a message that was refused', () => {
  const lines: object[] = []
  const nothing = (): void => undefined
  const error = (fields: object): void => void lines.push(fields)
  const tell = logOf({ debug: nothing, info: nothing, warn: nothing, error })
  tell({ ...refused, fate: 'dead_lettered' })
  tell({ ...refused, fate: 'kept' })
  const told = { kind: 'delivery_refused', queue: 'q', id: '7', attempt: 2 }
  const { message } = refused.error
  assert.deepEqual(lines, [
    { ...told, outcome: 'dead-lettered', error: message },
    { ...told, outcome: 'kept in the queue', error: message },
  ])
})

test.each<[Notice, string]>([
  [
    { kind: 'worker_not_started', queues: ['video', 'mail'] },
    'A worker for video, mail was created but never started: call worker.start() or await worker.run().',
  ],
  [
    { ...refused, fate: 'dead_lettered' },
    'Message 7 of q, received 2 times, was dead-lettered: The message does not match its contract.',
  ],
  [
    { ...refused, fate: 'kept' },
    'Message 7 of q, received 2 times, stays in the queue: The message does not match its contract.',
  ],
  [
    { kind: 'sweep_failed', error: new Error('Broken.'), failures: 1, retryInMs: 2_000 },
    'A sweep of the store failed: Broken. Next try in 2000 ms.',
  ],
  [
    { kind: 'sweep_failed', error: 'broken.', failures: 1, retryInMs: null },
    'A sweep of the store failed: broken. Sweeping has stopped.',
  ],
  [
    { kind: 'service_failed', service: 'janitor', error: new Error('Broken.'), retryInMs: null },
    'The service janitor failed: Broken. It has stopped.',
  ],
  [
    { kind: 'clock', what: 'ahead', offsetMs: 432_000_003, believedAfterMs: 300_000 },
    'The wall clock is 5d ahead of the elapsed time. Check the clock: the store will use it after 5m.',
  ],
  [
    { kind: 'clock', what: 'believed', offsetMs: -3_999, believedAfterMs: 300_000 },
    'The wall clock is 4s behind the elapsed time. This has lasted for 5m, so the store now uses it.',
  ],
  [
    {
      ...{ kind: 'tick_failed', schedule: 'nightly', at: new Date(0), error: new Error('Gone.') },
      ...{ tries: 3, retryInMs: null },
    },
    'Try 3 of the tick of nightly at 1970-01-01T00:00:00.000Z failed: Gone. The tick was abandoned.',
  ],
  [
    {
      ...{ kind: 'notification_failed', target: 'https://example.com', attempt: 2 },
      ...{ error: new Error('Refused.'), retryInMs: 10_000 },
    },
    'Attempt 2 to notify https://example.com failed: Refused. Next try in 10000 ms.',
  ],
  [
    {
      ...{ kind: 'janitor', what: 'stuck_pending', place: 'q', id: '7', type: 'OCR' },
      since: new Date(0),
    },
    'Stuck work: 7 of q has waited for a worker since 1970-01-01T00:00:00.000Z.',
  ],
  [
    {
      ...{ kind: 'tick_failed', schedule: 'nightly', at: new Date(0), tries: 1, retryInMs: 1_000 },
      error: new Error('no payload today'),
    },
    'Try 1 of the tick of nightly at 1970-01-01T00:00:00.000Z failed: no payload today. Next try in 1000 ms.',
  ],
  [firing, 'The alarm q-dlq-not-empty is in ALARM: 1 message.'],
])('a notice without a listener becomes a warning (%#)', (notice, text) => {
  const warned = vi.spyOn(process, 'emitWarning').mockReturnValue()
  onTestFinished(() => warned.mockRestore())
  warnOf(notice)
  assert.deepEqual(warned.mock.calls, [[text, { type: 'MillraceWarning', code: notice.kind }]])
})
