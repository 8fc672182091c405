import assert from 'node:assert/strict'
import { StatementSync } from 'node:sqlite'
import { afterEach, describe, test, vi } from 'vitest'
import type { Backend } from '../../../src/backends/backend.ts'
import { openSqlite } from '../../../src/backends/sqlite/index.ts'
import { type Ports, systemPorts } from '../../../src/core/ports.ts'
import { inTemporaryFolder } from '../../support/temporary-folder.ts'

/** Runs a test on a store with the queues 'q' and 'q.fifo'. */
function onStore(
  run: (backend: Backend, file: string) => Promise<void>,
  ports: Ports = systemPorts,
): Promise<void> {
  return inTemporaryFolder('commit-sharing', async (folder) => {
    const file = folder.file('store.db')
    const backend = await openSqlite({ file, ports })
    await backend.createQueue({ queue: 'q' })
    await backend.createQueue({ queue: 'q.fifo', settings: { deduplicateByContent: true } })
    await run(backend, file)
    await backend.close()
  })
}

/** Watches every statement that runs; what the watcher throws, the statement throws. */
function watchStatements(before: (sql: string) => void): void {
  const { run } = StatementSync.prototype
  vi.spyOn(StatementSync.prototype, 'run').mockImplementation(function (
    this: StatementSync,
    ...values: Parameters<typeof run>
  ) {
    before(this.sourceSQL)
    return run.apply(this, values)
  })
}

/** What node:sqlite throws for a result code of SQLite. */
function sqliteError(errcode: number): Error {
  return Object.assign(new Error('injected'), { code: 'ERR_SQLITE_ERROR', errcode })
}

const diskFull = 13
const deviceFault = 10 | (4 << 8)
const constraint = 19

async function bodies(backend: Backend, queue = 'q'): Promise<readonly string[]> {
  const { items } = await backend.peek({ queue, state: 'ready', limit: 1_000 })
  return items.map(({ body }) => body)
}

const send = (backend: Backend, body: string, queue = 'q'): ReturnType<Backend['send']> =>
  backend.send({ queue, messages: [{ body, ...(queue === 'q' ? {} : { group: 'g' }) }] })

afterEach(() => {
  vi.restoreAllMocks()
})

/** On a slow machine the store would commit before all have had their turn, to let others in. */
const timelessPorts: Ports = {
  ...systemPorts,
  clock: { ...systemPorts.clock, monotonic: () => 0 },
}

describe('operations that arrive together', () => {
  test('share one commit', () =>
    onStore(async (backend) => {
      let commits = 0
      watchStatements((sql) => {
        if (sql === 'COMMIT') commits += 1
      })
      await Promise.all(Array.from({ length: 100 }, (_, index) => send(backend, `${index}`)))
      assert.equal(commits, 1)
      assert.equal((await bodies(backend)).length, 100)
    }, timelessPorts))

  test('are answered only after the commit', () =>
    onStore(async (backend) => {
      const events: string[] = []
      watchStatements((sql) => {
        if (sql === 'COMMIT') events.push('commit')
      })
      await Promise.all([
        send(backend, 'a').then(() => events.push('answer')),
        send(backend, 'b').then(() => events.push('answer')),
      ])
      assert.deepEqual(events, ['commit', 'answer', 'answer'])
    }))

  test('are applied in the order in which they came', () =>
    onStore(async (backend) => {
      const [, , received] = await Promise.all([
        send(backend, 'first'),
        send(backend, 'second'),
        backend.receive({ queue: 'q', max: 1 }),
      ])
      assert.deepEqual(
        received.map(({ body }) => body),
        ['first'],
      )
    }))

  test('include a waiting receive that one of them serves', () =>
    onStore(async (backend) => {
      const waiting = backend.receive({ queue: 'q', max: 1, waitMs: 20_000 })
      await backend.check()
      await backend.sweep()
      let commits = 0
      watchStatements((sql) => {
        if (sql === 'COMMIT') commits += 1
      })
      await send(backend, 'wake')
      assert.equal((await waiting).length, 1)
      assert.equal(commits, 1)
    }))
})

describe('an operation that fails', () => {
  test('does not touch its neighbours', () =>
    onStore(async (backend) => {
      const results = await Promise.allSettled([
        send(backend, 'before'),
        send(backend, 'lost', 'missing'),
        backend.settle({
          queue: 'q',
          settlements: [{ receipt: 'garbage', outcome: { kind: 'acknowledge' } }],
        }),
        send(backend, 'after'),
      ])
      assert.deepEqual(
        results.map(({ status }) => status),
        ['fulfilled', 'rejected', 'fulfilled', 'fulfilled'],
      )
      assert.deepEqual(await bodies(backend), ['before', 'after'])
    }))

  test('half-way is undone, and its neighbours are kept', () =>
    onStore(async (backend) => {
      // The second statement of a FIFO send fails, after the message was already inserted.
      watchStatements((sql) => {
        if (sql.includes('INSERT INTO deduplication')) throw sqliteError(constraint)
      })
      const results = await Promise.allSettled([
        send(backend, 'before'),
        send(backend, 'half', 'q.fifo'),
        send(backend, 'after'),
      ])
      vi.restoreAllMocks()
      assert.deepEqual(
        results.map(({ status }) => status),
        ['fulfilled', 'rejected', 'fulfilled'],
      )
      assert.deepEqual(await bodies(backend), ['before', 'after'])
      assert.deepEqual(await bodies(backend, 'q.fifo'), [])
      const { ready, totals } = await backend.queueStatistics({ queue: 'q.fifo' })
      assert.deepEqual([ready, totals.sent], [0, 0])
      assert.equal((await send(backend, 'half', 'q.fifo'))[0]?.status, 'created')
    }))
})

/** Two sends and a receive share a commit, which fails so many times. */
async function failCommits(
  backend: Backend,
  errcode: number,
  times: number,
): Promise<readonly PromiseSettledResult<readonly object[]>[]> {
  let failures = times
  watchStatements((sql) => {
    if (sql === 'COMMIT' && failures-- > 0) throw sqliteError(errcode)
  })
  return Promise.allSettled([
    send(backend, 'a'),
    send(backend, 'b'),
    backend.receive({ queue: 'q', max: 1 }),
  ])
}

function refusedWith(result: PromiseSettledResult<unknown> | undefined, code: string): void {
  assert.ok(result?.status === 'rejected')
  assert.equal(result.reason.code, code)
  assert.equal(result.reason.retryable, true)
}

describe('a commit that fails', () => {
  test('because the device fails fails all its operations with a typed error, and nothing is kept', () =>
    onStore(async (backend) => {
      await send(backend, 'kept')
      const results = await failCommits(backend, deviceFault, 1)
      for (const result of results) refusedWith(result, 'store_failed')
      assert.deepEqual(await bodies(backend), ['kept'])
      const statistics = await backend.queueStatistics({ queue: 'q' })
      assert.deepEqual([statistics.ready, statistics.leased, statistics.totals.sent], [1, 0, 1])
      await send(backend, 'afterwards')
      assert.deepEqual(await bodies(backend), ['kept', 'afterwards'])
    }))

  test('because the disk was full a moment ago is tried again', () =>
    onStore(async (backend) => {
      const results = await failCommits(backend, diskFull, 1)
      for (const { status } of results) assert.equal(status, 'fulfilled')
      assert.equal((await backend.queueStatistics({ queue: 'q' })).totals.sent, 2)
    }))

  test('because the disk is full fails its sends with a typed error, and the rest is committed', () =>
    onStore(async (backend) => {
      await send(backend, 'kept')
      const [first, second, received] = await failCommits(backend, diskFull, 2)
      refusedWith(first, 'store_full')
      refusedWith(second, 'store_full')
      assert.ok(received?.status === 'fulfilled')
      assert.equal(received.value.length, 1)
      const statistics = await backend.queueStatistics({ queue: 'q' })
      assert.deepEqual([statistics.ready, statistics.leased, statistics.totals.sent], [0, 1, 1])
      await send(backend, 'afterwards')
      assert.deepEqual(await bodies(backend), ['afterwards'])
    }))

  test('leaves waiting receives waiting, and they are served later', () =>
    onStore(async (backend) => {
      const waiting = backend.receive({ queue: 'q', max: 1, waitMs: 20_000 })
      await backend.sweep()
      let failures = 2
      watchStatements((sql) => {
        if (sql === 'COMMIT' && failures-- > 0) throw sqliteError(diskFull)
      })
      await assert.rejects(send(backend, 'lost'), { code: 'store_full' })
      await send(backend, 'kept')
      assert.deepEqual(
        (await waiting).map(({ body, receiveCount }) => [body, receiveCount]),
        [['kept', 1]],
      )
    }))

  test('is an error that names no payload', () =>
    onStore(async (backend) => {
      watchStatements((sql) => {
        if (sql === 'COMMIT') throw sqliteError(diskFull)
      })
      await assert.rejects(send(backend, 'secret-payload'), (error: Error) => {
        assert.doesNotMatch(`${error.message}${error.stack}`, /secret-payload/)
        return true
      })
      vi.restoreAllMocks()
    }))
})
