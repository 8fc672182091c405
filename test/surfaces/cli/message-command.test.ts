/** `millrace message`: sending, receiving and looking, by hand and by script. */
import assert from 'node:assert/strict'
import { describe, test } from 'vitest'
import type { Backend } from '../../../src/backends/backend.ts'
import { assertRefused, ordersScene } from './cli-scene.ts'

async function bodiesIn(backend: Backend, queue = 'orders'): Promise<readonly string[]> {
  const { items } = await backend.peek({ queue, state: 'ready', limit: 100 })
  return items.map(({ body }) => body)
}

describe('sending', () => {
  test('prints the id, and the message is there with its attributes', async () => {
    const { good, backend } = await ordersScene()
    const id = await good(
      ...['message', 'send', 'orders', '{"id":17}', '--group', 'acme'],
      ...[
        '--attribute',
        'source=shop=1',
        '--attribute',
        'n:Number=4',
        '--attribute',
        'b:Binary=AQI=',
      ],
    )
    const { items } = await backend.peek({ queue: 'orders', state: 'ready', limit: 10 })
    const [message] = items
    assert.equal(id, `${message?.id}\n`)
    assert.deepEqual([message?.body, message?.group], ['{"id":17}', 'acme'])
    assert.deepEqual(message?.attributes, {
      source: { type: 'String', value: 'shop=1' },
      n: { type: 'Number', value: '4' },
      b: { type: 'Binary', value: new Uint8Array([1, 2]) },
    })
  })

  test('takes the body from stdin or a file, without the line break at its end', async () => {
    const { start, write, good, backend } = await ordersScene()
    const { code } = await start(['message', 'send', 'orders'], { stdin: 'two\nlines\n' }).ended
    assert.equal(code, 0)
    await good('message', 'send', 'orders', '--file', await write('body.json', '{"a":1}\r\n'))
    assert.deepEqual(await bodiesIn(backend), ['two\nlines', '{"a":1}'])
  })

  test('holds a message back for as long as it was told', async () => {
    const { read, backend } = await ordersScene()
    const { status } = await read('message', 'send', 'orders', 'later', '--delay', '10m')
    assert.equal(status, 'created')
    const { items } = await backend.peek({ queue: 'orders', state: 'delayed', limit: 10 })
    assert.deepEqual(
      items.map(({ body }) => body),
      ['later'],
    )
  })

  test('with a type enqueues a tracked job', async () => {
    const { good, read, run, start, backend } = await ordersScene()
    const sent = ['message', 'send', 'orders', '--type', 'PACK']
    const id = (await good(...sent, '{"boxes":2}', '--group', 'acme')).trim()
    const job = await backend.jobs?.read({ id })
    assert.deepEqual(
      [job?.type, job?.status, job?.payload, job?.tenant],
      ['PACK', 'pending', '{"boxes":2}', 'acme'],
    )
    const { status, ...others } = await read(...sent, '{}')
    assert.deepEqual([status, Object.keys(others)], ['created', ['id']])
    assertRefused(
      await run(...sent, 'two boxes'),
      1,
      /message: got a body that is not JSON, expected JSON/,
    )
    assertRefused(await run('message', 'send', 'orders', '{}', '--type', ''), 2, /--type: got ''/)
    const { stdout } = await start([...sent, '--lines'], { stdin: '1\n2\nx y\n' }).ended
    assert.match(stdout, /2 sent, 0 duplicates, 1 refused/)
    assert.equal((await bodiesIn(backend)).length, 4)
  })

  test('is refused in the words of its options', async () => {
    const { run, start, backend } = await ordersScene()
    await backend.changeQueue({ queue: 'orders', changes: { retentionMs: 60_000 } })
    const late = ['message', 'send', 'orders', '--delay', '1m']
    const reason = /--delay: got 1m, expected less than the retention of the queue/
    assertRefused(await run(...late, 'x'), 2, reason)
    const { stderr } = await start([...late, '--lines'], { stdin: 'x\n' }).ended
    assert.match(stderr, reason)
  })

  test('meets a duplicate in a FIFO queue, and says so', async () => {
    const { run } = await ordersScene()
    const args = ['message', 'send', 'steps.fifo', 'x', '--group', 'g', '--dedup-id', '1']
    const first = await run(...args)
    const second = await run(...args)
    assert.equal(second.stdout, first.stdout)
    assert.match(second.stderr, /duplicate/)
  })

  test('makes a message of every line that is not empty', async () => {
    const { start, backend } = await ordersScene()
    const stdin = `one\n\n${Array.from({ length: 1_200 }, (_, at) => `n${at}`).join('\n')}\r\n`
    const { stdout } = await start(['message', 'send', 'orders', '--lines'], { stdin }).ended
    assert.equal(stdout, '1201 sent, 0 duplicates, 0 refused.\n')
    assert.equal((await backend.queueStatistics({ queue: 'orders' })).ready, 1_201)
    assert.equal((await bodiesIn(backend))[1], 'n0')
  })

  test('says by number which lines were refused, and that the rest is done', async () => {
    const { start, backend } = await ordersScene()
    await backend.changeQueue({ queue: 'orders', changes: { messageBytesMax: 1_024 } })
    const stdin = `one\n${'x'.repeat(2_000)}\nthree\n`
    const end = await start(['message', 'send', 'orders', '--lines', '--jsonl'], { stdin }).ended
    assert.equal(end.code, 5)
    const events = end.stdout
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line))
    assert.deepEqual(
      events.map(({ line, status }) => [line, status]),
      [
        [1, 'created'],
        [2, 'refused'],
        [3, 'created'],
      ],
    )
    assert.match(end.stderr, /The store refused 1 of 3 lines/)
    assert.deepEqual(await bodiesIn(backend), ['one', 'three'])
  })

  test.each([
    [
      'a body twice',
      ['orders', 'body', '--file', 'body.json'],
      2,
      /or use --file or --lines, but not both/,
    ],
    [
      'one id for all lines',
      ['orders', '--lines', '--dedup-id', '1'],
      2,
      /duplicates of the first/,
    ],
    ['a number that is none', ['orders', 'x', '--attribute', 'n:Number=x'], 2, /decimal number/],
    ['bytes that are not base64', ['orders', 'x', '--attribute', 'b:Binary=?'], 2, /base64/],
    ['no group in a FIFO queue', ['steps.fifo', 'x'], 1, /needs a message group/],
    ['a file that is not there', ['orders', '--file', 'nowhere.json'], 1, /Cannot read the body/],
    ['an unknown queue', ['order', 'x'], 3, /did you mean 'orders'/],
    ['an empty body', ['orders', ''], 2, /non-empty/],
  ])('is refused for %s', async (_name, args, code, line) => {
    const { run } = await ordersScene()
    assertRefused(await run('message', 'send', ...args), code, line)
  })
})

describe('receiving', () => {
  test('hides messages and gives their receipts, with which they can be deleted', async () => {
    const { read, good, run, backend } = await ordersScene()
    await backend.send({ queue: 'orders', messages: [{ body: 'one' }, { body: 'two' }] })
    const flags = ['--max', '10', '--visibility', '1m']
    const { messages } = await read('message', 'receive', 'orders', ...flags)
    assert.deepEqual(
      messages.map(({ body, state, receive_count }: Record<string, unknown>) => [
        body,
        state,
        receive_count,
      ]),
      [
        ['one', 'leased', 1],
        ['two', 'leased', 1],
      ],
    )
    await good('message', 'delete', 'orders', messages[0].receipt)
    const { leased } = await backend.queueStatistics({ queue: 'orders' })
    assert.equal(leased, 1)
    assertRefused(await run('message', 'delete', 'orders', 'nonsense'), 1, /could not be deleted/)
    const half = await run('message', 'delete', 'orders', messages[1].receipt, 'nonsense')
    assertRefused(half, 5, /1 of 2 messages could not be deleted/)
  })

  test('prints the receipt for people too', async () => {
    const { run, good, backend } = await ordersScene()
    await backend.send({ queue: 'orders', messages: [{ body: 'one' }] })
    const { stdout, stderr } = await run('message', 'receive', 'orders')
    const [, receipt = ''] = /(r2-[\d.-]+) +one$/m.exec(stdout) ?? []
    assert.match(stderr, /millrace message delete orders <receipt>/)
    assert.equal(await good('message', 'delete', 'orders', receipt), 'Deleted 1 message.\n')
    assert.equal((await backend.queueStatistics({ queue: 'orders' })).leased, 0)
  })

  test('deletes what it has printed when it is told to', async () => {
    const { good, backend } = await ordersScene()
    await backend.send({ queue: 'orders', messages: [{ body: 'a' }, { body: 'b' }, { body: 'c' }] })
    assert.equal(
      await good('message', 'receive', 'orders', '--max', '2', '--delete', '--body'),
      'a\nb\n',
    )
    const { ready, leased } = await backend.queueStatistics({ queue: 'orders' })
    assert.deepEqual([ready, leased], [1, 0])
  })

  test('waits for a message that comes later', async () => {
    const { start, backend } = await ordersScene()
    const { ended } = start(['message', 'receive', 'orders', '--wait', '20s', '--body'])
    await backend.send({ queue: 'orders', messages: [{ body: 'late' }] })
    assert.equal((await ended).stdout, 'late\n')
  })

  test('says on stderr that there is nothing', async () => {
    const { run } = await ordersScene()
    const end = await run('message', 'receive', 'orders')
    assert.deepEqual(end, { code: 0, stdout: '', stderr: 'No messages found.\n' })
  })
})

describe('peeking', () => {
  test('shows messages of a state in pages, and takes nothing', async () => {
    const { read, backend } = await ordersScene()
    await backend.send({
      queue: 'orders',
      messages: [{ body: 'one' }, { body: 'two' }, { body: 'hidden', delayMs: 60_000 }],
    })
    const first = await read('message', 'peek', 'orders', '--limit', '1')
    const second = await read('message', 'peek', 'orders', '--after', first.next)
    assert.deepEqual([first.messages[0].body, second.messages[0].body], ['one', 'two'])
    assert.equal(second.next, null)
    const delayed = await read('message', 'peek', 'orders', '--state', 'delayed')
    assert.equal(delayed.messages[0].state, 'delayed')
    assert.match(delayed.messages[0].due_at, /^\d{4}-/)
    assert.equal((await backend.queueStatistics({ queue: 'orders' })).totals.received, 0)
  })

  test('lets no body steer a terminal or forge a line, and gives programs every byte', async () => {
    const { start, backend } = await ordersScene()
    const body = 'a\u001B[2Jb\u0085\nERROR'.replace('\u001B', '\u009B')
    await backend.send({ queue: 'orders', messages: [{ body }] })
    const onScreen = start(['message', 'peek', 'orders'], { outIsTerminal: true })
    assert.match((await onScreen.ended).stdout, /a\uFFFD\[2Jb\uFFFD\uFFFDERROR$/m)
    const bodies = start(['message', 'peek', 'orders', '--body'], { outIsTerminal: true })
    assert.equal((await bodies.ended).stdout, 'a\uFFFD[2Jb\uFFFD\uFFFDERROR\n')
    const piped = start(['message', 'peek', 'orders', '--body'])
    assert.equal((await piped.ended).stdout, `${body}\n`)
  })

  test('cuts long bodies in the table to what a screen is wide', async () => {
    const { start, backend } = await ordersScene()
    await backend.send({ queue: 'orders', messages: [{ body: 'x'.repeat(500) }] })
    const { stdout } = await start(['message', 'peek', 'orders'], { outIsTerminal: true }).ended
    const [, row = ''] = stdout.split('\n')
    assert.match(row, /x…$/)
    assert.ok(row.length <= 100, `${row.length}`)
  })

  test('refuses a state that is none', async () => {
    const { run } = await ordersScene()
    assertRefused(
      await run('message', 'peek', 'orders', '--state', 'gone'),
      2,
      /one of ready, leased, delayed/,
    )
  })
})
