/** `millrace collector`, as an operator uses it on a store. */
import assert from 'node:assert/strict'
import { describe, onTestFinished, test } from 'vitest'
import { type Mill, open } from '../../../src/index.ts'
import { message, replies } from '../../flows/conversations.ts'
import { assertRefused, type CliScene, cliScene } from './cli-scene.ts'

const collector = 'replies-dev-conversations'

interface Replies extends CliScene {
  readonly mill: Mill<typeof replies>
}

/** A store with two conversations that wait for a quarter of an hour. */
async function withReplies(): Promise<Replies> {
  const scene = await cliScene()
  const mill = await open(replies, { data: scene.data })
  onTestFinished(() => mill.close())
  const window = '15m'
  await mill.collectors.conversations.add(message('c-1', 'b', 2), { window })
  await mill.collectors.conversations.add(message('c-1', 'a', 1))
  await mill.collectors.conversations.add(message('c-2', 'z'), { window })
  return { ...scene, mill }
}

describe('what is staged', () => {
  test('is listed, in pages or for one collector', async () => {
    const { read, good, run } = await withReplies()
    const { keys, next } = await read('collector', 'list')
    assert.equal(next, null)
    const [{ since, due_at, bytes, ...first }, second] = keys
    assert.equal(second.key, 'c-2')
    assert.ok(bytes > 100)
    assert.equal(Date.parse(due_at) - Date.parse(since), 900_000)
    assert.deepEqual(first, {
      collector,
      key: 'c-1',
      staged: 2,
      trigger: 'waiting',
      running: 0,
      kept: 0,
    })
    const page = await read('collector', 'list', '--limit', '1')
    const rest = await read('collector', 'list', '--after', page.next)
    assert.deepEqual([rest.keys[0].key, rest.next], ['c-2', null])
    assert.deepEqual(await read('collector', 'list', '--prefix', 'other'), { keys: [], next: null })
    const named = await read('collector', 'list', '--collector', collector)
    assert.equal(named.keys.length, 2)
    const [heading = '', row = ''] = (await good('collector', 'list')).split('\n')
    assert.match(heading, /^COLLECTOR +KEY +STAGED +BYTES +RUNNING +KEPT +TRIGGER +DUE AT +SINCE$/)
    assert.match(row, /^replies-dev-conversations +c-1 +2 +\d+ +0 +0 +waiting +\S+Z +\S+Z$/)
    const { stdout, stderr } = await run('collector', 'list', '--limit', '1')
    assert.equal(stdout.trimEnd().split('\n').length, 2)
    assert.equal(stderr, `To see more, add --after ${page.next}\n`)
  })

  test('is shown in the order in which it will be merged', async () => {
    const { read, good } = await withReplies()
    const { items, staged } = await read('collector', 'show', collector, 'c-1')
    assert.equal(staged, 2)
    assert.deepEqual(
      items.map(({ id, order, body }: { id: string; order: number; body: string }) => [
        id,
        order,
        JSON.parse(body),
      ]),
      [
        ['a', Date.UTC(2026, 0, 1, 0, 0, 1), message('c-1', 'a', 1)],
        ['b', Date.UTC(2026, 0, 1, 0, 0, 2), message('c-1', 'b', 2)],
      ],
    )
    const shown = await good('collector', 'show', collector, 'c-1')
    assert.match(shown, /^ID +ORDER +STAGED AT +BYTES\na +\d+ +\S+Z +\d+\nb /m)
  })

  test('is merged at once when it is flushed', async () => {
    const { read, good, mill } = await withReplies()
    const worker = mill.worker({ poll: ['triggerDelay'], handle: {} })
    worker.start()
    assert.deepEqual(await read('collector', 'flush', collector, 'c-1'), {
      collector,
      key: 'c-1',
      flushed: true,
    })
    const [delivery] = await mill.queues.whatsapp.receive({ wait: '20s' })
    assert.deepEqual(delivery?.message.message_sids, ['a', 'b'])
    assert.equal(await good('collector', 'flush', collector, 'c-2'), 'c-2 will be merged now.\n')
    await worker.stop()
  })
})

describe('the command refuses', () => {
  test.each<[string, readonly string[], number, RegExp]>([
    [
      'to show what is not there',
      ['show', collector, 'c-9'],
      3,
      /No items are staged under the key c-9/,
    ],
    [
      'to flush what is not there',
      ['flush', 'other', 'c-1'],
      3,
      /No items are staged under the key c-1 of the collector oth/,
    ],
    ['a key that is none', ['show', collector, ''], 2, /key/],
    ['a missing key', ['flush', collector], 2, /missing required argument 'key'/],
    ['a page size that is none', ['list', '--limit', '0'], 2, /limit/],
    ['a place that is none', ['list', '--after', 'x'], 2, /after/],
  ])('%s', async (_name, args, code, line) => {
    const { run } = await withReplies()
    assertRefused(await run('collector', ...args), code, line)
  })

  test('to make a store where there is none', async () => {
    const { run } = await cliScene()
    assertRefused(await run('collector', 'list'), 6, /There is no store/)
  })

  test('says so when nothing is staged', async () => {
    const { run, store } = await cliScene()
    await store()
    const { code, stdout, stderr } = await run('collector', 'list')
    assert.deepEqual([code, stdout, stderr], [0, '', 'No items are staged.\n'])
  })
})
