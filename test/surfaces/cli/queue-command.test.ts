/** `millrace queue`, as an operator uses it on a store. */
import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { describe, test, vi } from 'vitest'
import { assertRefused, type CliScene, cliScene } from './cli-scene.ts'

async function withOrders(): Promise<CliScene> {
  const scene = await cliScene()
  await scene.good('queue', 'create', 'orders-dlq', '--retention', '14d')
  await scene.good('queue', 'create', 'orders', '--visibility', '5m', '--dlq', 'orders-dlq')
  return scene
}

describe('a queue that the command creates', () => {
  test('has the settings that were said in words, and those of SQS otherwise', async () => {
    const { read } = await withOrders()
    const { created, queue } = await read(
      ...['queue', 'create', 'telemetry.fifo', '--content-deduplication'],
      ...['--deduplication-scope', 'group', '--wait', '20s', '--delay', '1m30s'],
      ...['--max-bytes', '2048', '--tag', 'team=core', '--tag', 'empty='],
    )
    assert.equal(created, true)
    assert.equal(queue.type, 'fifo')
    assert.deepEqual(queue.tags, { team: 'core', empty: '' })
    const { visibility_ms, receive_wait_ms, delay_ms, message_bytes_max } = queue.settings
    assert.deepEqual(
      [visibility_ms, receive_wait_ms, delay_ms, message_bytes_max],
      [30_000, 20_000, 90_000, 2_048],
    )
    assert.equal(queue.settings.content_deduplication, true)
    assert.equal(queue.settings.deduplication_scope, 'group')
  })

  test('makes the store where there is none', async () => {
    const { good, data } = await cliScene()
    assert.equal(existsSync(data), false)
    assert.equal(await good('queue', 'create', 'orders'), 'Created orders.\n')
    assert.equal(existsSync(`${data}/millrace.db`), true)
  })

  test('may be created again as it is, and not with other settings', async () => {
    const { read, run } = await withOrders()
    const again = await read('queue', 'create', 'orders', '--visibility', '5m')
    assert.equal(again.created, false)
    assertRefused(await run('queue', 'create', 'orders', '--visibility', '6m'), 1, /visibilityMs/)
  })

  test.each([
    ['a FIFO queue without the ending', ['orders', '--fifo'], /orders\.fifo/],
    ['a name that is none', ['or ders'], /A-Z a-z 0-9/],
    ['a duration that is none', ['orders', '--visibility', 'soon'], /such as '90s'/],
    ['a duration beyond the limits', ['orders', '--retention', '15d'], /from 1m to 14d/],
    [
      'a delay as long as the retention',
      ['orders', '--delay', '1m', '--retention', '1m'],
      /--delay: got 1m, expected less than the retention/,
    ],
    [
      'receives without a dead-letter queue',
      ['orders', '--max-receives', '5'],
      /needs a dead-letter queue\. Add --dlq/,
    ],
    ['a tag without a value', ['orders', '--tag', 'team'], /name=value/],
  ])('is refused for %s', async (_name, args, line) => {
    const { run } = await cliScene()
    assertRefused(await run('queue', 'create', ...args), 2, line)
  })

  test('is not given a retention that its delay outlasts', async () => {
    const { good, run, read } = await withOrders()
    await good('queue', 'set', 'orders', '--delay', '5m')
    assertRefused(await run('queue', 'set', 'orders', '--retention', '5m'), 2, /--delay: got 5m/)
    await read('queue', 'set', 'orders', '--retention', '5m', '--delay', '4m')
  })

  test('is refused when its dead-letter queue does not exist', async () => {
    const { run } = await cliScene()
    const end = await run('queue', 'create', 'orders', '--dlq', 'nowhere')
    assertRefused(end, 2, /got 'nowhere', expected a queue that exists/)
  })
})

describe('the list of queues', () => {
  test('begins with those whose messages wait longest', async () => {
    const { good, read, store } = await withOrders()
    const { backend } = await store()
    await backend.createQueue({ queue: 'quiet' })
    await backend.send({ queue: 'orders-dlq', messages: [{ body: 'first' }] })
    const sentAt = Date.now()
    // Within a millisecond neither would be older.
    await vi.waitUntil(() => Date.now() > sentAt)
    await backend.send({ queue: 'orders', messages: [{ body: 'second' }, { body: 'third' }] })
    const { queues } = await read('queue', 'list')
    assert.deepEqual(
      queues.map(({ name, visible }: { name: string; visible: number }) => [name, visible]),
      [
        ['orders-dlq', 1],
        ['orders', 2],
        ['quiet', 0],
      ],
    )
    assert.equal(queues[1].dead_letter_queue, 'orders-dlq')
    assert.equal(queues[2].oldest_age_ms, null)
    const [head = '', ...rows] = (await good('queue', 'list')).trimEnd().split('\n')
    assert.match(head, /^NAME +VISIBLE +IN FLIGHT +DELAYED +OLDEST +DLQ$/)
    assert.match(rows[2] ?? '', /^quiet +0 +0 +0 +- +-$/)
  })

  test('can be cut down to a prefix', async () => {
    const { read } = await withOrders()
    const { queues } = await read('queue', 'list', '--prefix', 'orders-')
    assert.deepEqual(
      queues.map(({ name }: { name: string }) => name),
      ['orders-dlq'],
    )
  })

  test('says on stderr that there is nothing', async () => {
    const { run, store } = await cliScene()
    await store()
    assert.deepEqual(await run('queue', 'list'), {
      code: 0,
      stdout: '',
      stderr: 'No queues found.\n',
    })
  })
})

describe('a queue that is shown', () => {
  test('names both sides of its dead letters', async () => {
    const { good, read } = await withOrders()
    const source = await read('queue', 'show', 'orders')
    assert.deepEqual([source.dead_letter_queue, source.max_receives], ['orders-dlq', 3])
    const target = await read('queue', 'show', 'orders-dlq')
    assert.deepEqual(target.dead_letter_sources, ['orders'])
    const sheet = await good('queue', 'show', 'orders')
    assert.match(sheet, /^dead letters to +orders-dlq, after 3 receives$/m)
    assert.match(sheet, /^visibility +5m$/m)
  })

  test('is offered by a similar name when it does not exist', async () => {
    const { run } = await withOrders()
    const end = await run('queue', 'show', 'ordres')
    assertRefused(end, 3, /^error: The queue 'ordres' does not exist; did you mean 'orders'\?$/m)
  })

  test('is offered by its full name when only its key is given', async () => {
    const { run, good } = await withOrders()
    await good('queue', 'create', 'shop-dev-invoices')
    const end = await run('queue', 'show', 'invoices')
    assertRefused(end, 3, /'invoices' does not exist; did you mean 'shop-dev-invoices'\?$/m)
  })
})

describe('a queue that is changed', () => {
  test('keeps what was not named', async () => {
    const { read } = await withOrders()
    const { settings, max_receives } = await read('queue', 'set', 'orders', '--max-receives', '7')
    assert.deepEqual([settings.visibility_ms, max_receives], [300_000, 7])
    const { dead_letter_queue } = await read('queue', 'set', 'orders', '--no-dlq')
    assert.equal(dead_letter_queue, null)
  })

  test('is not changed by a call that names nothing', async () => {
    const { run } = await withOrders()
    assertRefused(await run('queue', 'set', 'orders'), 2, /Name at least one setting/)
  })

  test('gets and loses tags', async () => {
    const { read, run } = await withOrders()
    await read('queue', 'tag', 'orders', '--set', 'team=core', '--set', 'tier=gold')
    const { tags } = await read('queue', 'tag', 'orders', '--remove', 'tier')
    assert.deepEqual(tags, { team: 'core' })
    assertRefused(await run('queue', 'tag', 'orders'), 2, /--set or --remove/)
  })
})

describe('what cannot be undone', () => {
  test.each(['purge', 'delete'])('needs --yes where nobody can be asked: %s', async (verb) => {
    const { run, store, read } = await withOrders()
    const { backend } = await store()
    await backend.send({ queue: 'orders', messages: [{ body: 'one' }, { body: 'two' }] })
    assertRefused(
      await run('queue', verb, 'orders'),
      4,
      /2 messages\. To confirm without a terminal, add --yes/,
    )
    const dry = await read('queue', verb, 'orders', '--dry-run')
    assert.deepEqual(dry, { queue: 'orders', messages: 2, dry_run: true })
    assert.equal((await backend.queueStatistics({ queue: 'orders' })).ready, 2)
    const done = await read('queue', verb, 'orders', '--yes')
    assert.deepEqual(done, { queue: 'orders', messages: 2, dry_run: false })
    const left = await backend.listQueues({ prefix: 'orders', limit: 10 })
    assert.equal(left.items.length, verb === 'delete' ? 1 : 2)
    if (verb === 'delete') return
    assert.equal((await backend.queueStatistics({ queue: 'orders' })).ready, 0)
  })

  test('is refused for a queue that does not exist before anybody is asked', async () => {
    const { run } = await withOrders()
    assertRefused(await run('queue', 'purge', 'nothing'), 3, /The queue 'nothing' does not exist/)
  })
})
