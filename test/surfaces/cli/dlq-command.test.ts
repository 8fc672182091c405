/** `millrace dlq`: looking at dead letters, and sending them back. */
import assert from 'node:assert/strict'
import { describe, test } from 'vitest'
import type { Backend } from '../../../src/backends/backend.ts'
import { systemPorts } from '../../../src/core/ports.ts'
import { maintainStore } from '../../../src/operations/redrive.ts'
import { assertRefused, cliScene, type StoreScene } from './cli-scene.ts'

async function withDeadLetters(count: number): Promise<StoreScene> {
  const scene = await cliScene()
  const { backend } = await scene.store()
  await backend.createQueue({ queue: 'orders-dlq' })
  const deadLetter = { queue: 'orders-dlq', maxReceives: 3 }
  await backend.createQueue({ queue: 'orders', settings: { deadLetter } })
  await backend.createQueue({ queue: 'mails', settings: { deadLetter } })
  await bury(backend, 'orders', count)
  return { ...scene, backend }
}

async function bury(backend: Backend, queue: string, count: number): Promise<void> {
  if (count === 0) return
  const messages = Array.from({ length: count }, (_, at) => ({ body: `${queue} ${at}` }))
  await backend.send({ queue, messages })
  const deliveries = await backend.receive({ queue, max: count })
  const outcome = { kind: 'deadLetter', reason: 'no such customer' } as const
  const settlements = deliveries.map(({ receipt }) => ({ receipt, outcome }))
  await backend.settle({ queue, settlements })
}

describe('dead-letter queues', () => {
  test('are listed with their sources', async () => {
    const { read, good } = await withDeadLetters(2)
    const { queues } = await read('dlq', 'list')
    assert.equal(queues.length, 1)
    assert.deepEqual(
      [queues[0].name, queues[0].visible, queues[0].sources],
      ['orders-dlq', 2, ['mails', 'orders']],
    )
    assert.match(await good('dlq', 'list'), /^orders-dlq +2 +0 +\S+ +mails, orders$/m)
  })

  test('say where their messages died, and of what', async () => {
    const { read, good, backend } = await withDeadLetters(3)
    await bury(backend, 'mails', 1)
    await backend.send({ queue: 'orders-dlq', messages: [{ body: 'by hand' }] })
    const { groups, complete, looked_at } = await read('dlq', 'show', 'orders-dlq')
    assert.deepEqual([complete, looked_at], [true, 5])
    assert.deepEqual(
      groups.map(({ source, reason, messages }: Record<string, unknown>) => [
        source,
        reason,
        messages,
      ]),
      [
        ['orders', 'no such customer', 3],
        ['mails', 'no such customer', 1],
        [null, null, 1],
      ],
    )
    assert.match(await good('dlq', 'show', 'orders-dlq'), /sent here directly/)
  })
})

describe('a long dead-letter queue', () => {
  test('says that only its first ten thousand were looked at', async () => {
    const { good, read, run, backend } = await withDeadLetters(0)
    for (let sent = 0; sent < 10_001; sent += 1_000) {
      const messages = Array.from({ length: Math.min(1_000, 10_001 - sent) }, () => ({ body: 'x' }))
      await backend.send({ queue: 'orders-dlq', messages })
    }
    const shown = await good('dlq', 'show', 'orders-dlq')
    assert.match(shown, /^Only the first 10000 of 10001 messages were examined\.$/m)
    const { looked_at, complete } = await read('dlq', 'show', 'orders-dlq')
    assert.deepEqual([looked_at, complete], [10_000, false])
    const asked = await run('dlq', 'redrive', 'orders-dlq')
    assertRefused(asked, 4, /This will move up to 1 of 10001 messages from orders-dlq/)
    const foretold = await good('dlq', 'redrive', 'orders-dlq', '--dry-run')
    assert.match(
      foretold,
      /^Would move 0 of 10001 messages from .*\nOnly the first 10000 messages were examined\.$/m,
    )
  })
})

describe('a redrive', () => {
  test('sends everything back, and tells how it went on', async () => {
    const { start, backend } = await withDeadLetters(5)
    const end = await start(['dlq', 'redrive', 'orders-dlq', '--yes', '--jsonl']).ended
    assert.equal(end.code, 0, end.stderr)
    const events = end.stdout
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line))
    const last = events.at(-1)
    assert.deepEqual(
      [last.event, last.status, last.moved, last.to_move],
      ['end', 'completed', 5, 5],
    )
    assert.equal((await backend.queueStatistics({ queue: 'orders' })).ready, 5)
  })

  test('goes to another queue when one is named', async () => {
    const { good, backend } = await withDeadLetters(2)
    await backend.createQueue({ queue: 'retry' })
    const said = await good('dlq', 'redrive', 'orders-dlq', '--to', 'retry', '--yes')
    assert.equal(said, 'Moved 2 of 2 messages: completed.\n')
    assert.equal((await backend.queueStatistics({ queue: 'retry' })).ready, 2)
  })

  test('only tells what it would do in a dry run', async () => {
    const { read, backend } = await withDeadLetters(2)
    await bury(backend, 'mails', 1)
    const { messages, moves, dry_run } = await read('dlq', 'redrive', 'orders-dlq', '--dry-run')
    assert.deepEqual([messages, dry_run], [3, true])
    assert.deepEqual(moves, [
      { to: 'orders', messages: 2 },
      { to: 'mails', messages: 1 },
    ])
    assert.equal((await backend.queueStatistics({ queue: 'orders-dlq' })).ready, 3)
  })

  test('draws a bar on a terminal', async () => {
    const { start } = await withDeadLetters(3)
    const redrive = start(['dlq', 'redrive', 'orders-dlq', '--yes'], { errIsTerminal: true })
    const { stderr } = await redrive.ended
    assert.match(stderr, /\rMoved █{30} 3 of 3/)
  })

  test('is left running at the first Ctrl-C, which prints its id', async () => {
    const { start, read } = await withDeadLetters(50)
    const redrive = start(['dlq', 'redrive', 'orders-dlq', '--rate', '1', '--yes', '--jsonl'])
    await redrive.output(/"progress"/)
    redrive.interrupt()
    const { code, stderr } = await redrive.ended
    assert.equal(code, 130)
    const [task] = (await read('dlq', 'tasks', 'orders-dlq')).tasks
    assert.equal(task.status, 'running')
    assert.ok(stderr.includes(`millrace dlq cancel ${task.id}`), stderr)
    const cancelled = await read('dlq', 'cancel', task.id)
    assert.match(cancelled.status, /^cancel/)
  })

  test('that is left says that no process moves it, and how to continue it', async () => {
    const { start, run, good, read } = await withDeadLetters(50)
    const redrive = start(['dlq', 'redrive', 'orders-dlq', '--rate', '50', '--yes', '--jsonl'])
    await redrive.output(/"progress"/)
    redrive.interrupt()
    const { stderr } = await redrive.ended
    assert.match(stderr, /No process continues the redrive/)
    assert.match(stderr, /millrace dlq follow orders-dlq/)
    assert.doesNotMatch(stderr, /Another process/)
    const [left] = (await read('dlq', 'tasks', 'orders-dlq')).tasks
    for (const flag of ['--yes', '--dry-run', '--json']) {
      const again = await run('dlq', 'redrive', 'orders-dlq', flag)
      assertRefused(again, 1, /continue it: millrace dlq follow orders-dlq;/)
      assert.ok(again.stderr.includes(`millrace dlq cancel ${left.id}`), again.stderr)
    }
    assert.match(
      await good('dlq', 'follow', 'orders-dlq'),
      /^Moved 50 of 50 messages: completed\.$/m,
    )
    const [task] = (await read('dlq', 'tasks', 'orders-dlq')).tasks
    assert.deepEqual([task.status, task.moved], ['completed', 50])
  })

  test('that is left goes on in another process that has the store open', async () => {
    const { start, store, backend } = await withDeadLetters(50)
    const redrive = start(['dlq', 'redrive', 'orders-dlq', '--rate', '5', '--yes', '--jsonl'])
    await redrive.output(/"progress"/)
    await using _server = maintainStore((await store()).backend, systemPorts.timers)
    redrive.interrupt()
    const { code, stderr } = await redrive.ended
    assert.equal(code, 130)
    assert.match(stderr, /Another process continues the redrive/)
    assert.doesNotMatch(stderr, /No process/)
    const [task] = await backend.listMoveTasks({ source: 'orders-dlq', limit: 1 })
    assert.ok(task)
    await backend.cancelMoveTask({ id: task.id })
  })

  test('that is cancelled where no process moves it is over at once', async () => {
    const { start, read, good } = await withDeadLetters(50)
    const redrive = start(['dlq', 'redrive', 'orders-dlq', '--rate', '1', '--yes', '--jsonl'])
    await redrive.output(/"progress"/)
    redrive.interrupt()
    await redrive.ended
    const [task] = (await read('dlq', 'tasks', 'orders-dlq')).tasks
    assert.equal((await read('dlq', 'cancel', task.id)).status, 'cancelled')
    assert.match(await good('dlq', 'redrive', 'orders-dlq', '--yes'), /completed/)
  })

  test('can be followed only while it runs', async () => {
    const { run } = await withDeadLetters(1)
    assertRefused(await run('dlq', 'follow', 'orders-dlq'), 3, /orders-dlq has no running redrive/)
  })

  test('is cancelled at the second one', async () => {
    const { start, read } = await withDeadLetters(50)
    const redrive = start(['dlq', 'redrive', 'orders-dlq', '--rate', '1', '--yes', '--jsonl'])
    await redrive.output(/"progress"/)
    redrive.interrupt()
    await redrive.notice(/Ctrl-C again/)
    // The second one counts when it cannot be an echo of the first any more.
    const again = setInterval(() => redrive.interrupt(), 50)
    const { code, stderr } = await redrive.ended
    clearInterval(again)
    assert.equal(code, 130)
    assert.match(stderr, /Cancelled the redrive/)
    const [task] = (await read('dlq', 'tasks', 'orders-dlq')).tasks
    assert.match(task.status, /^cancel/)
  })

  test('skips what has no queue to go back to, says so, and moves the others', async () => {
    const { run, read, good, backend } = await withDeadLetters(2)
    await backend.send({ queue: 'orders-dlq', messages: [{ body: 'by hand' }] })
    await bury(backend, 'mails', 1)
    await backend.deleteQueue({ queue: 'orders' })
    const plan = await read('dlq', 'redrive', 'orders-dlq', '--dry-run')
    const skipped = { queue_not_found: 2, origin_unknown: 1 }
    assert.deepEqual([plan.moves, plan.skipped], [[{ to: 'mails', messages: 1 }], skipped])
    const foretold = await good('dlq', 'redrive', 'orders-dlq', '--dry-run')
    assert.match(foretold, /^Would move 1 of 4 messages from orders-dlq\.$/m)
    assert.match(foretold, /^ {2}1 to mails$/m)
    assert.match(foretold, /^ {2}2 stay: their source queues do not exist$/m)
    assert.match(foretold, /^ {2}1 stays: its source queue is not known$/m)
    const question = /This will move 1 of 4 messages from orders-dlq to their source queues\./
    assertRefused(await run('dlq', 'redrive', 'orders-dlq'), 4, question)
    const end = await run('dlq', 'redrive', 'orders-dlq', '--yes')
    assert.equal(end.code, 5)
    assert.match(end.stdout, /^Moved 1 of 4 messages\. 3 were skipped:$/m)
    assert.match(end.stdout, /^ {2}2 stay: their source queues do not exist$/m)
    assert.match(end.stdout, /^ {2}1 stays: its source queue is not known$/m)
    assert.match(end.stderr, /3 messages stay in orders-dlq\. Use --to/)
    const [task] = (await read('dlq', 'tasks', 'orders-dlq')).tasks
    assert.deepEqual([task.moved, task.skipped, task.status], [1, skipped, 'failed'])
    assert.match(await good('dlq', 'tasks', 'orders-dlq'), /failed +1 of 4 +3 /)
  })

  test.each([
    ['of a queue without sources', ['orders'], 1, /dead-letter queue that another queue uses/],
    ['to itself', ['orders-dlq', '--to', 'orders-dlq'], 2, /another standard queue/],
    ['to a FIFO queue', ['orders-dlq', '--to', 'steps.fifo'], 2, /another standard queue/],
  ])('%s is refused by its dry run too', async (_name, args, code, line) => {
    const { run, backend } = await withDeadLetters(2)
    await backend.createQueue({ queue: 'steps.fifo' })
    assertRefused(await run('dlq', 'redrive', ...args, '--dry-run'), code, line)
    assertRefused(await run('dlq', 'redrive', ...args, '--yes'), code, line)
  })

  test.each([
    ['without --yes', ['orders-dlq'], 4, /move 2 messages from orders-dlq/],
    ['of a queue that is none', ['nothing', '--yes'], 3, /queue 'nothing' does not exist/],
    ['to a queue that is none', ['orders-dlq', '--to', 'x', '--yes'], 3, /does not exist/],
    [
      'of a queue without sources',
      ['orders', '--yes'],
      1,
      /dead-letter queue that another queue uses/,
    ],
    ['faster than allowed', ['orders-dlq', '--rate', '501', '--yes'], 2, /from 1 to 500/],
  ])('is refused %s', async (_name, args, code, line) => {
    const { run } = await withDeadLetters(2)
    assertRefused(await run('dlq', 'redrive', ...args), code, line)
  })

  test('that does not exist cannot be cancelled', async () => {
    const { run } = await withDeadLetters(0)
    assertRefused(await run('dlq', 'cancel', 'nothing'), 3, /move task does not exist/)
  })
})
