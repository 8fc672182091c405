import assert from 'node:assert/strict'
import type { Outcome, Settlement, SettleResult } from '../../backends/backend.ts'
import type { Failure } from '../../core/failure.ts'
import type { LogLine } from '../../core/log-line.ts'
import { enqueue, jobsOf, readJob, runOnce } from './job-scene.ts'
import { hour, minute, only, type Scene, second } from './scene.ts'
import type { ContractSuite } from './suite.ts'

/** Failures, log lines, and an error for every job that has failed. */
export function describeAttemptDetails(all: ContractSuite): void {
  const suite = all.needing('trackedJobs')
  suite.describe('what is kept of an attempt', () => {
    describeFailures(suite)
    describeErrors(suite)
    describeLogs(suite)
    describeLogsOfRuns(suite)
    describeBadDetails(suite)
  })
}

const cause = { name: 'Error', message: 'refused', stack: '', code: 'ECONNREFUSED' }
const failure: Failure = {
  name: 'TypeError',
  message: 'fetch failed\n"twice"',
  stack: 'at scan (/scan.js:1:2)\nat run (/run.js:3:4)',
  causes: [cause],
}
const other: Failure = { name: 'Error', message: 'broken', stack: '', causes: [] }

function line(message: string, changes: Partial<LogLine> = {}): LogLine {
  return { at: 1_000, level: 'info', message, fields: {}, ...changes }
}

async function failuresOf(scene: Scene, id: string): Promise<unknown[]> {
  const attempts = await jobsOf(scene).attempts({ id })
  return attempts.map(({ attempt, outcome, failure: kept }) => [attempt, outcome, kept])
}

async function logged(scene: Scene, id: string): Promise<unknown[]> {
  return (await jobsOf(scene).logs({ id })).map(({ attempt, message }) => [attempt, message])
}

async function settleWith(scene: Scene, settlement: Settlement): Promise<SettleResult> {
  return only(await scene.backend.settle({ queue: 'q', settlements: [settlement] }))
}

/** Receives the next job and ends its attempt, with log lines. */
async function runLogging(
  scene: Scene,
  outcome: Outcome,
  ...messages: readonly string[]
): Promise<void> {
  const { receipt } = await scene.receiveOne('q')
  const logs = messages.map((message) => line(message))
  assert.equal((await settleWith(scene, { receipt, outcome, logs })).status, 'settled')
}

function describeFailures(suite: ContractSuite): void {
  suite.test('each attempt has its own failure, the last one too', async (scene) => {
    await scene.queue('q')
    const { id } = await enqueue(scene, { maxAttempts: 5 })
    await runOnce(scene, { kind: 'retry', delayMs: 0, error: 'fetch failed', failure })
    await runOnce(scene, { kind: 'retry', delayMs: 0, error: 'later' })
    await runOnce(scene, { kind: 'retry', delayMs: second, error: 'broken', failure: other })
    await scene.advance(second)
    await runOnce(scene, { kind: 'deadLetter', reason: 'broken', failure })
    assert.deepEqual(await failuresOf(scene, id), [
      [1, 'retried', failure],
      [2, 'retried', null],
      [3, 'retried', other],
      [4, 'failed', failure],
    ])
  })

  suite.test('a dead letter keeps the failure of its job', async (scene) => {
    await scene.queueWithDeadLetters('q', 5)
    const { id } = await enqueue(scene)
    await runOnce(scene, { kind: 'deadLetter', reason: 'broken', failure })
    assert.deepEqual(await failuresOf(scene, id), [[1, 'failed', failure]])
  })

  suite.test('an attempt that runs, is completed or has lapsed has none', async (scene) => {
    await scene.queue('q', { visibilityMs: 10 * second })
    const { id } = await enqueue(scene, { maxAttempts: 5 })
    await runOnce(scene, { kind: 'retry', delayMs: 0, error: 'broken', failure })
    await scene.receiveOne('q')
    await scene.advance(minute)
    await scene.receiveOne('q')
    assert.deepEqual(await failuresOf(scene, id), [
      [1, 'retried', failure],
      [2, 'lapsed', null],
      [3, 'running', null],
    ])
    await scene.advance(minute)
    await runOnce(scene, { kind: 'acknowledge' })
    assert.deepEqual((await failuresOf(scene, id)).at(-1), [4, 'completed', null])
  })

  suite.test('a late report of a failure changes nothing', async (scene) => {
    await scene.queue('q', { visibilityMs: 10 * second })
    const { id } = await enqueue(scene)
    const { receipt } = await scene.receiveOne('q')
    await scene.advance(minute)
    const late = await scene.settle('q', receipt, { kind: 'deadLetter', reason: 'late', failure })
    assert.notEqual(late.status, 'settled')
    assert.deepEqual(await failuresOf(scene, id), [[1, 'lapsed', null]])
  })

  suite.test('a message that is not a job ignores it', async (scene) => {
    await scene.queueWithDeadLetters('q', 5)
    await scene.send('q', 'a')
    const { receipt } = await scene.receiveOne('q')
    const outcome = { kind: 'retry', delayMs: 0, error: 'x', failure } as const
    const settled = await settleWith(scene, { receipt, outcome, logs: [line('x')] })
    assert.equal(settled.status, 'settled')
    await runOnce(scene, { kind: 'deadLetter', reason: 'x', failure })
  })

  suite.test('failures and logs go with their job', async (scene) => {
    await scene.queue('q', { history: { completedMs: minute, failedMs: minute } })
    const { id } = await enqueue(scene)
    await runLogging(scene, { kind: 'retry', delayMs: 0, error: 'x', failure }, 'first')
    await runLogging(scene, { kind: 'deadLetter', reason: 'x', failure }, 'second')
    assert.equal((await failuresOf(scene, id)).length, 2)
    await scene.advance(hour)
    await scene.sweep()
    assert.deepEqual([await failuresOf(scene, id), await logged(scene, id)], [[], []])
  })
}

/** Each way in which a job can fail, from a queue with and without dead letters. */
const endings: Readonly<Record<string, (scene: Scene) => Promise<unknown>>> = {
  'is dead-lettered': (scene) => runOnce(scene, { kind: 'deadLetter', reason: 'broken' }),
  'loses its last lease': async (scene) => {
    await scene.receiveOne('q')
    await scene.advance(20 * second)
  },
  'loses its last lease, and is received again': async (scene) => {
    await scene.receiveOne('q')
    await scene.advance(20 * second)
    assert.deepEqual(await scene.receive('q'), [])
  },
  'uses its last attempt for a retry': async (scene) => {
    await runOnce(scene, { kind: 'retry', delayMs: 0 })
    assert.deepEqual(await scene.receive('q'), [])
  },
  'expires before its first attempt': (scene) => scene.advance(hour),
  'loses its lease after its limit': async (scene) => {
    await scene.receiveOne('q', { visibilityMs: 2 * hour })
    await scene.advance(2 * hour)
  },
  'is diverted by a switch': async (scene) => {
    assert.ok(scene.backend.switches !== null)
    await scene.backend.switches.set({ scope: 'queue', value: 'q', mode: 'divert', by: 'test' })
    assert.deepEqual(await scene.receive('q'), [])
  },
}

function describeErrors(suite: ContractSuite): void {
  for (const [how, end] of Object.entries(endings)) {
    for (const hasDeadLetters of [false, true]) {
      const where = hasDeadLetters ? 'with dead letters' : 'without dead letters'
      suite.test(`a job has an error when it ${how}, ${where}`, async (scene) => {
        const settings = { visibilityMs: 10 * second }
        if (hasDeadLetters) await scene.queueWithDeadLetters('q', 5, settings)
        else await scene.queue('q', settings)
        const { id } = await enqueue(scene, { maxAttempts: 1, expiresAfterMs: hour })
        await end(scene)
        const { status, error } = await readJob(scene, id)
        assert.equal(status, 'failed')
        assert.ok(error, 'the failed job has no error')
      })
    }
  }

  suite.test('a pending job whose attempt has lapsed shows it', async (scene) => {
    await scene.queue('q', { visibilityMs: 10 * second })
    const { id } = await enqueue(scene)
    await scene.receiveOne('q')
    await scene.advance(minute)
    const { status, error } = await readJob(scene, id)
    assert.deepEqual(
      [status, error],
      ['pending', 'The lease ended before the attempt was settled.'],
    )
    assert.equal(only(await jobsOf(scene).attempts({ id })).error, error)
  })
}

function describeLogs(suite: ContractSuite): void {
  suite.test('the lines of all attempts are kept, in order', async (scene) => {
    await scene.queue('q')
    const { id } = await enqueue(scene)
    await runLogging(scene, { kind: 'retry', delayMs: 0, error: 'x' }, 'first', 'second')
    const { receipt } = await scene.receiveOne('q')
    const fields = { page: 3, isLast: true, note: 'a "b"\n', none: null }
    const logs = [line('third', { at: 5_000, level: 'warn', fields })]
    await settleWith(scene, { receipt, outcome: { kind: 'acknowledge', result: '1' }, logs })
    assert.deepEqual(await jobsOf(scene).logs({ id }), [
      { attempt: 1, ...line('first') },
      { attempt: 1, ...line('second') },
      { attempt: 2, at: 5_000, level: 'warn', message: 'third', fields },
    ])
    assert.equal((await readJob(scene, id)).result, '1')
  })

  for (const kind of ['acknowledge', 'deadLetter'] as const) {
    suite.test(`the lines of one that ends with ${kind} stay`, async (scene) => {
      await scene.queueWithDeadLetters('q', 5)
      const { id } = await enqueue(scene)
      await runLogging(scene, { kind, reason: 'x' }, 'last')
      assert.deepEqual(await logged(scene, id), [[1, 'last']])
      await scene.reopen()
      assert.deepEqual(await logged(scene, id), [[1, 'last']])
    })
  }

  suite.test('a job without lines, and one that does not exist, has none', async (scene) => {
    await scene.queue('q')
    const { id } = await enqueue(scene)
    await runLogging(scene, { kind: 'acknowledge' })
    assert.deepEqual([await logged(scene, id), await logged(scene, 'no-such-job')], [[], []])
  })

  suite.test('a settlement that is refused stores no line', async (scene) => {
    await scene.queue('q', { visibilityMs: 10 * second })
    const { id } = await enqueue(scene)
    const { receipt } = await scene.receiveOne('q')
    await scene.advance(minute)
    await scene.receiveOne('q')
    const outcome = { kind: 'acknowledge' } as const
    const { status } = await settleWith(scene, { receipt, outcome, logs: [line('late')] })
    assert.equal(status, 'stale')
    const report = { queue: 'q', receipt, progress: 0.5, logs: [line('late')] }
    assert.equal((await jobsOf(scene).reportProgress(report)).status, 'stale')
    assert.deepEqual(await logged(scene, id), [])
  })

  suite.test('jobs that are completed in one call keep their own lines', async (scene) => {
    await scene.queue('q')
    const enqueued = [await enqueue(scene), await enqueue(scene), await enqueue(scene)]
    const deliveries = await scene.receive('q')
    const settlements = deliveries.map(({ receipt }, index): Settlement => {
      const settlement = { receipt, outcome: { kind: 'acknowledge' } } as const
      return index === 1 ? { ...settlement, logs: [line('of the second')] } : settlement
    })
    await scene.backend.settle({ queue: 'q', settlements })
    const kept = await Promise.all(enqueued.map(({ id }) => logged(scene, id)))
    assert.deepEqual(kept, [[], [[1, 'of the second']], []])
  })
}

function describeLogsOfRuns(suite: ContractSuite): void {
  suite.test('lines can be stored with progress while the attempt runs', async (scene) => {
    await scene.queue('q', { visibilityMs: 10 * second })
    const { id } = await enqueue(scene)
    const { receipt } = await scene.receiveOne('q')
    const report = (progress: number, message: string): Promise<unknown> =>
      jobsOf(scene).reportProgress({ queue: 'q', receipt, progress, logs: [line(message)] })
    await report(0.2, 'first')
    await report(0.4, 'second')
    assert.deepEqual(await logged(scene, id), [
      [1, 'first'],
      [1, 'second'],
    ])
    // A worker that dies then has lost nothing of it.
    await scene.advance(minute)
    await runLogging(scene, { kind: 'acknowledge' }, 'third')
    assert.deepEqual(await logged(scene, id), [
      [1, 'first'],
      [1, 'second'],
      [2, 'third'],
    ])
  })

  suite.test('an attempt that is released keeps the lines of its latest run', async (scene) => {
    await scene.queue('q')
    const { id } = await enqueue(scene)
    await runLogging(scene, { kind: 'release' }, 'first')
    assert.deepEqual(await logged(scene, id), [[1, 'first']])
    await runLogging(scene, { kind: 'release' }, 'second')
    const { receipt } = await scene.receiveOne('q')
    const logs = [line('third')]
    await jobsOf(scene).reportProgress({ queue: 'q', receipt, progress: 0.5, logs })
    await settleWith(scene, { receipt, outcome: { kind: 'acknowledge' }, logs: [line('fourth')] })
    assert.deepEqual(await logged(scene, id), [
      [1, 'third'],
      [1, 'fourth'],
    ])
  })

  suite.test('a purge ends the job, and its lines stay with its history', async (scene) => {
    await scene.queue('q')
    const { id } = await enqueue(scene)
    await runLogging(scene, { kind: 'retry', delayMs: 0, error: 'x', failure }, 'first')
    await scene.backend.purgeQueue({ queue: 'q' })
    await scene.sweep()
    assert.equal((await readJob(scene, id)).status, 'cancelled')
    assert.deepEqual(await logged(scene, id), [[1, 'first']])
    assert.deepEqual(await failuresOf(scene, id), [[1, 'retried', failure]])
  })
}

function describeBadDetails(suite: ContractSuite): void {
  const long: Failure = { ...other, stack: 'x'.repeat(20_000) }
  const nameless = { ...other, name: 1 } as unknown as Failure
  const bad: readonly (readonly [what: string, Omit<Settlement, 'receipt'>, field: string])[] = [
    [
      'a failure that is too long',
      { outcome: { kind: 'deadLetter', reason: 'x', failure: long } },
      'outcome.failure',
    ],
    [
      'a failure without a name',
      { outcome: { kind: 'retry', delayMs: 0, failure: nameless } },
      'outcome.failure.name',
    ],
    [
      'too many lines',
      { outcome: { kind: 'acknowledge' }, logs: Array.from({ length: 1_001 }, () => line('x')) },
      'logs: count',
    ],
    [
      'lines that are too long',
      { outcome: { kind: 'release' }, logs: [line('x'.repeat(70_000))] },
      'logs',
    ],
    [
      'an unknown level',
      { outcome: { kind: 'acknowledge' }, logs: [line('x', { level: 'loud' as 'info' })] },
      'logs[0].level',
    ],
  ]
  for (const [what, settlement, field] of bad) {
    suite.test(`${what} is refused, and nothing changes`, async (scene) => {
      await scene.queue('q')
      const { id } = await enqueue(scene)
      const { receipt } = await scene.receiveOne('q')
      const result = await settleWith(scene, { ...settlement, receipt })
      assert.ok(result.status === 'refused', result.status)
      assert.deepEqual(
        [result.error.code, result.error.violations[0]?.field],
        ['invalid_argument', field],
      )
      assert.equal((await readJob(scene, id)).status, 'processing')
    })
  }
}
