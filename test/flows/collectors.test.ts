/** Collectors from the item to the merged message, with a real worker on a clock that the test moves. */
import assert from 'node:assert/strict'
import { beforeEach, describe, test } from 'vitest'
import { bodiesOf } from '../support/bodies-of.ts'
import { gate, openScene, started, type WorkerScene } from '../support/worker-scene.ts'
import { hooks, message, replies } from './conversations.ts'

beforeEach(() => {
  hooks.onMerge = () => undefined
  hooks.route = () => undefined
})

type Scene = WorkerScene<typeof replies>

function openReplies(): Promise<Scene> {
  return openScene(replies)
}

/** A worker that needs no handler: the collector brings its own. */
function work({ mill }: Scene): void {
  started(mill.worker({ poll: ['triggerDelay'], handle: {} }))
}

/** What lies in a target queue, merged ids alone. */
async function mergedIn(scene: Scene, target: 'whatsapp' | 'handoff'): Promise<string[]> {
  const { items } = await scene.mill.queues[target].peek({ limit: 100 })
  return items.map(({ body }) => JSON.parse(body).message_sids.join(''))
}

describe('messages of one conversation', () => {
  test('become one message, in order, when the window of the first has ended', async () => {
    const scene = await openReplies()
    const { mill, clock } = scene
    const { conversations } = mill.collectors
    work(scene)
    for (const [index, sid] of [...'cabde'].entries()) {
      const order = 'abcde'.indexOf(sid)
      const added = await conversations.add(message('c-1', sid, order))
      assert.deepEqual(added, { status: 'staged', key: 'c-1', id: sid })
      if (index < 4) await clock.advance(2_000)
    }
    await clock.advance(1_999)
    assert.deepEqual(await mergedIn(scene, 'whatsapp'), [])
    await clock.advance(1)
    const [body = ''] = await bodiesOf(scene.backend, mill.queues.whatsapp.name)
    assert.deepEqual(JSON.parse(body), {
      conversation_id: 'c-1',
      merged_body: [...'abcde'].map((sid) => `text of ${sid}`).join('\n'),
      message_sids: [...'abcde'],
    })
    assert.equal(await conversations.inspect('c-1'), undefined)
  })

  test('send one trigger, which says nothing but the conversation', async () => {
    const { mill } = await openReplies()
    for (const sid of 'ab') await mill.collectors.conversations.add(message('c-1', sid))
    const { items } = await mill.queues.triggerDelay.peek({ state: 'delayed' })
    assert.deepEqual(
      items.map(({ body }) => body),
      ['{"conversation_id":"c-1"}'],
    )
  })

  test('wait as long as the first of them says', async () => {
    const scene = await openReplies()
    const { conversations } = scene.mill.collectors
    work(scene)
    await conversations.add(message('c-1', 'a'), { window: '2s' })
    await conversations.add(message('c-1', 'b'), { window: '15m' })
    await scene.clock.advance(2_000)
    assert.deepEqual(await mergedIn(scene, 'whatsapp'), ['ab'])
  })

  test('go to the queue that was chosen for them', async () => {
    const scene = await openReplies()
    const { conversations } = scene.mill.collectors
    work(scene)
    await conversations.add(message('c-1', 'a'))
    await conversations.add(message('c-1', 'b', 1, { wants: 'person' }))
    await conversations.add(message('c-2', 'c'))
    await scene.clock.advance(10_000)
    assert.deepEqual(await mergedIn(scene, 'handoff'), ['ab'])
    assert.deepEqual(await mergedIn(scene, 'whatsapp'), ['c'])
  })

  test('are merged once, however often they arrive', async () => {
    const scene = await openReplies()
    const { conversations } = scene.mill.collectors
    work(scene)
    await conversations.add(message('c-1', 'a'))
    assert.equal((await conversations.add(message('c-1', 'a'))).status, 'duplicate')
    await scene.clock.advance(10_000)
    assert.equal((await conversations.add(message('c-1', 'a'))).status, 'duplicate')
    await scene.clock.advance(10_000)
    assert.deepEqual(await mergedIn(scene, 'whatsapp'), ['a'])
    assert.equal((await conversations.add(message('c-2', 'a'))).status, 'staged')
  })

  test('that arrive while others are merged belong to the next message', async () => {
    const scene = await openReplies()
    const { mill, clock, until } = scene
    const { conversations } = mill.collectors
    const merging = gate()
    let merges = 0
    hooks.onMerge = () => {
      merges += 1
      return merges === 1 ? merging.opened : undefined
    }
    work(scene)
    await conversations.add(message('c-1', 'b', 2))
    await clock.advance(10_000)
    await until('merging', () => merges === 1)
    await conversations.add(message('c-1', 'a', 1))
    assert.equal((await conversations.inspect('c-1'))?.running, 1)
    // Its window ends while the merge goes on: the trigger is settled without a word.
    await clock.advance(20_000)
    assert.equal((await mill.queues.triggerDelay.statistics()).ready, 0)
    assert.equal(merges, 1)
    merging.open()
    await until('both', async () => (await mergedIn(scene, 'whatsapp')).length === 2)
    assert.deepEqual(await mergedIn(scene, 'whatsapp'), ['b', 'a'])
  })

  test('are merged by a trigger that somebody has written', async () => {
    const scene = await openReplies()
    const { mill, until } = scene
    work(scene)
    await mill.collectors.conversations.add(message('c-1', 'a'))
    await mill.queues.triggerDelay.send({ conversation_id: 'c-1' })
    await until('merged', async () => (await mergedIn(scene, 'whatsapp')).length === 1)
    const { delayed, ready, leased } = await mill.queues.triggerDelay.statistics()
    assert.deepEqual([delayed, ready, leased], [0, 0, 0])
  })

  test('are merged after all when somebody has purged their trigger', async () => {
    const scene = await openReplies()
    const { mill, clock } = scene
    work(scene)
    await mill.collectors.conversations.add(message('c-1', 'a'))
    await mill.queues.triggerDelay.purge()
    await clock.advance(180_000)
    assert.deepEqual(await mergedIn(scene, 'whatsapp'), ['a'])
  })

  test('can be staged by a handler, together with its completion', async () => {
    const scene = await openReplies()
    const { mill, clock, until } = scene
    let failures = 0
    started(
      mill.worker({
        poll: { webhooks: 1, triggerDelay: 1 },
        handle: {
          webhooks: (hook, context) => {
            context.collect('conversations', hook, { window: '1s' })
            if (failures++ === 0) throw new Error('after it was collected')
          },
        },
      }),
    )
    await mill.queues.webhooks.send(message('c-1', 'a'))
    await until('failed', () => failures === 1)
    assert.equal(await mill.collectors.conversations.inspect('c-1'), undefined)
    await clock.advance(60_000)
    assert.deepEqual(await mergedIn(scene, 'whatsapp'), ['a'])
  })
})

describe('a merge that fails', () => {
  test('is tried again, and then is a dead letter that can be redriven', async () => {
    const scene = await openReplies()
    const { mill, clock, until } = scene
    const { conversations } = mill.collectors
    const seen: string[] = []
    hooks.onMerge = (items) => {
      seen.push(items.map(({ sid }) => sid).join(''))
      throw new Error('the merge is broken')
    }
    work(scene)
    await conversations.add(message('c-1', 'a'))
    await clock.advance(12_000)
    await conversations.add(message('c-1', 'b', 1))
    await clock.advance(8_000)
    assert.deepEqual(seen, ['a', 'ab', 'ab'])
    const dead = await mill.queues.triggerDelay.deadLetters?.peek()
    assert.equal(dead?.items[0]?.deadLetterOrigin?.reason, 'the merge is broken')
    const inspected = await conversations.inspect('c-1')
    assert.deepEqual([inspected?.trigger, inspected?.staged, inspected?.kept], ['dead', 0, 2])

    hooks.onMerge = () => undefined
    // What comes later does not wait for them.
    await conversations.add(message('c-1', 'c', 2))
    await clock.advance(11_000)
    await until('merged', async () => (await mergedIn(scene, 'whatsapp')).length === 1)
    await mill.queues.triggerDelay.deadLetters?.redrive()
    await clock.advance(1_000)
    await until('redriven', async () => (await mergedIn(scene, 'whatsapp')).length === 2)
    assert.deepEqual(await mergedIn(scene, 'whatsapp'), ['c', 'ab'])
    assert.equal(await conversations.inspect('c-1'), undefined)
  })

  test.each<[string, () => void, RegExp]>([
    ['names no target', () => (hooks.route = () => 'nowhere'), /route: got 'nowhere'/],
    [
      'does not fit the contract of its target',
      () =>
        (hooks.onMerge = (items) => {
          const [first] = items
          if (first !== undefined) Object.assign(first, { text: 'x'.repeat(1_001) })
        }),
      /message\.merged_body: got a string/,
    ],
  ])('because it %s keeps the items with the dead letter', async (_name, breakIt, reason) => {
    const scene = await openReplies()
    const { mill, clock } = scene
    breakIt()
    work(scene)
    await mill.collectors.conversations.add(message('c-1', 'a'))
    await clock.advance(30_000)
    const dead = await mill.queues.triggerDelay.deadLetters?.peek()
    assert.match(dead?.items[0]?.deadLetterOrigin?.reason ?? '', reason)
    assert.equal((await mill.collectors.conversations.inspect('c-1'))?.kept, 1)
    assert.deepEqual(await mergedIn(scene, 'whatsapp'), [])
  })

  test.each([[{}], [{ conversation_id: '' }], ['text'], [null]])(
    'because its trigger names no conversation, %j, is over at once',
    async (trigger) => {
      const scene = await openReplies()
      const { mill, until } = scene
      work(scene)
      await mill.queues.triggerDelay.send(trigger)
      const letters = async () => (await mill.queues.triggerDelay.deadLetters?.peek())?.items ?? []
      await until('dead', async () => (await letters()).length === 1)
      const [letter] = await letters()
      assert.deepEqual(
        [letter?.deadLetterOrigin?.reason, letter?.receiveCount],
        ['The trigger has no key. Check what trigger and keyOf of the collector return.', 1],
      )
    },
  )

  test('because its worker stops is begun again by the next worker', async () => {
    const scene = await openReplies()
    const { mill, clock, until } = scene
    let merges = 0
    hooks.onMerge = () => {
      merges += 1
      // The first never ends.
      return merges === 1 ? new Promise(() => undefined) : undefined
    }
    const first = started(mill.worker({ poll: ['triggerDelay'], handle: {} }))
    await mill.collectors.conversations.add(message('c-1', 'a'))
    await clock.advance(10_000)
    await until('merging', () => merges === 1)
    const stopped = first.stop({ timeoutMs: 0 })
    await clock.advance(2_000)
    await stopped
    work(scene)
    await until('merged', async () => (await mergedIn(scene, 'whatsapp')).length === 1)
    assert.deepEqual(await mergedIn(scene, 'whatsapp'), ['a'])
  })
})

describe('an item that is refused', () => {
  test.each<[string, unknown, object, RegExp]>([
    ['does not fit its schema', { ...message('c', 'a'), text: 7 }, {}, /^item\.text: got a number/],
    ['has no key', message('', 'a'), {}, /^key: got another text/],
    ['has too long an id', message('c', 'x'.repeat(257)), {}, /^id: got another text/],
    ['has too long a window', message('c', 'a'), { window: '16m' }, /^window: got 16m/],
    ['has a window that is none', message('c', 'a'), { window: 5 }, /^window: got 5/],
  ])('because it %s leaves nothing behind', async (_name, item, options, text) => {
    const { mill } = await openReplies()
    const { conversations } = mill.collectors
    await assert.rejects(
      conversations.add(item as ReturnType<typeof message>, options),
      (error: Error) => {
        assert.match(error.message, text)
        assert.ok(!error.message.includes('xxxx'), 'it quotes the item')
        return true
      },
    )
    assert.deepEqual(await conversations.list(), { items: [] })
    assert.equal((await mill.queues.triggerDelay.statistics()).delayed, 0)
  })
})

describe('an operator', () => {
  test('sees what waits, and can have it merged at once', async () => {
    const scene = await openReplies()
    const { mill, clock, until } = scene
    const { conversations } = mill.collectors
    const now = clock.now()
    for (const key of ['c-2', 'c-1', 'c-3']) await conversations.add(message(key, 'a'))
    const page = await conversations.list({ limit: 2 })
    assert.deepEqual(
      page.items.map(({ key }) => key),
      ['c-1', 'c-2'],
    )
    const rest = await conversations.list({ after: page.next ?? '' })
    assert.deepEqual([rest.items.map(({ key }) => key), rest.next], [['c-3'], undefined])
    const { items, ...summary } = (await conversations.inspect('c-1')) ?? {}
    assert.deepEqual(items, [
      { id: 'a', item: message('c-1', 'a'), order: Date.UTC(2026, 0, 1), stagedAt: now },
    ])
    assert.deepEqual(summary, {
      collector: 'replies-dev-conversations',
      key: 'c-1',
      staged: 1,
      bytes: JSON.stringify(message('c-1', 'a')).length,
      since: now,
      trigger: 'waiting',
      dueAt: now + 10_000,
      running: 0,
      kept: 0,
      keptItems: [],
    })
    work(scene)
    assert.equal(await conversations.flush('c-1'), true)
    assert.equal(await conversations.flush('c-9'), false)
    await until('merged', async () => (await mergedIn(scene, 'whatsapp')).length === 1)
    assert.equal(clock.now(), now)
  })
})
