/** `millrace inbox`: people who take messages and decide them, from a shell. */
import assert from 'node:assert/strict'
import { userInfo } from 'node:os'
import { describe, test } from 'vitest'
import { assertRefused, cliScene, type StoreScene } from './cli-scene.ts'

const hourMs = 3_600_000

interface InboxScene extends StoreScene {
  readonly ids: readonly string[]
}

/** A store whose queue `handoff` holds messages. */
async function inboxScene(...bodies: readonly string[]): Promise<InboxScene> {
  const scene = await cliScene()
  const { backend } = await scene.store()
  await backend.createQueue({ queue: 'handoff', settings: { visibilityMs: hourMs } })
  const messages = bodies.map((body) => ({ body }))
  const results = bodies.length === 0 ? [] : await backend.send({ queue: 'handoff', messages })
  const ids = results.map((result) => (result.status === 'created' ? result.id : ''))
  return { ...scene, backend, ids }
}

const asAnna = ['--by', 'anna'] as const

describe('an inbox', () => {
  test('is worked through: claim, note, renew, resolve', async () => {
    const { good, read, ids } = await inboxScene('{"reason":"refund"}', 'second')
    const [id = ''] = ids
    const claimed = await read('inbox', 'claim', 'handoff', ...asAnna, '--for', '30m')
    assert.deepEqual([claimed.id, claimed.message], [id, { reason: 'refund' }])
    const { by, at, until } = claimed.claim
    assert.deepEqual([by, Date.parse(until) - Date.parse(at)], ['anna', hourMs / 2])
    assert.equal(
      await good('inbox', 'note', 'handoff', id, 'asked the bank', '--by', 'ben'),
      'Noted.\n',
    )
    assert.match(await good('inbox', 'renew', 'handoff', id, ...asAnna), /^Renewed until .*Z\.\n$/)
    const resolving = ['resolve', 'handoff', id, '--note', 'paid back', ...asAnna]
    assert.equal(await good('inbox', ...resolving), `Resolved ${id}.\n`)
    const { item, history } = await read('inbox', 'show', 'handoff', id)
    assert.equal(item, null)
    assert.deepEqual(
      history.map(({ event, by: who, note }: Record<string, unknown>) => [event, who, note]),
      [
        ['claimed', 'anna', null],
        ['noted', 'ben', 'asked the bank'],
        ['renewed', 'anna', null],
        ['resolved', 'anna', 'paid back'],
      ],
    )
  })

  test('is listed by tabs, for people and for programs', async () => {
    const { good, read, start, backend } = await inboxScene('first', '{"n":2}', 'third', 'last')
    await good('inbox', 'claim', 'handoff', ...asAnna)
    await good('inbox', 'claim', 'handoff', '--by', 'ben')
    await backend.receive({ queue: 'handoff', max: 1 })
    const bodiesOf = async (...flags: readonly string[]): Promise<unknown> => {
      const { items, counts } = await read('inbox', 'list', 'handoff', ...asAnna, ...flags)
      assert.deepEqual(counts, { mine: 1, unassigned: 1, all: 4 })
      return items.map(({ message }: Record<string, unknown>) => message)
    }
    assert.deepEqual(await bodiesOf(), ['first', { n: 2 }, 'third', 'last'])
    assert.deepEqual(await bodiesOf('--tab', 'mine'), ['first'])
    assert.deepEqual(await bodiesOf('--tab', 'unassigned'), ['last'])
    const { stdout, stderr } = await start(['inbox', 'list', 'handoff', ...asAnna]).ended
    assert.match(stdout, /^ID +AGE +RECEIVES +HELD BY +UNTIL +MESSAGE$/m)
    assert.match(stdout, / 1 +ben +\S+Z +\{"n":2\}$/m)
    assert.match(stdout, / 1 +\(no name\) +third$/m)
    assert.equal(stderr, '1 mine, 1 unassigned, 4 in total.\n')
    const page = await read('inbox', 'list', 'handoff', '--limit', '3')
    const rest = await read('inbox', 'list', 'handoff', '--after', page.next)
    assert.deepEqual([rest.items.length, rest.next], [1, null])
  })

  test('takes the user of the system for the person, unless told otherwise', async () => {
    const { read } = await inboxScene('first')
    const { claim } = await read('inbox', 'claim', 'handoff')
    assert.equal(claim.by, userInfo().username)
  })

  test('takes a chosen message, and puts it back', async () => {
    const { good, read, ids } = await inboxScene('first', 'second')
    const [, id = ''] = ids
    assert.match(
      await good('inbox', 'claim', 'handoff', id, ...asAnna),
      /^Claimed .* until .*Z\.$/m,
    )
    const returned = await read('inbox', 'release', 'handoff', id, '--note', 'busy', ...asAnna)
    assert.deepEqual(returned, { queue: 'handoff', id, by: 'anna', released: true })
    const { item } = await read('inbox', 'show', 'handoff', id)
    assert.deepEqual([item.state, item.receive_count, item.claim], ['waiting', 0, null])
  })

  test('shows a message for people, with nothing that steers a terminal', async () => {
    const { good, ids } = await inboxScene('{"reason":"refund\u009b2J"}')
    const [id = ''] = ids
    await good('inbox', 'claim', 'handoff', ...asAnna)
    const shown = await good('inbox', 'show', 'handoff', id)
    assert.match(shown, /^claimed by anna until \S+Z, sent \S+Z, received 1 time$/m)
    assert.match(shown, /^AT +EVENT +BY$/m)
    assert.match(shown, /^ {2}"reason": "refund\uFFFD2J"$/m)
  })

  test('lets nobody decide what another one has', async () => {
    const { run, good, ids } = await inboxScene('first')
    const [id = ''] = ids
    await good('inbox', 'claim', 'handoff', ...asAnna)
    const asBen = ['handoff', id, '--by', 'ben']
    assertRefused(
      await run('inbox', 'claim', ...asBen),
      1,
      /^error: anna has claimed the message until \S+Z\.$/m,
    )
    for (const action of ['renew', 'resolve', 'release']) {
      assertRefused(
        await run('inbox', action, ...asBen),
        1,
        /^error: anna has claimed this message\.$/m,
      )
    }
    await good('inbox', 'release', 'handoff', id, ...asAnna)
    const again = await run('inbox', 'resolve', 'handoff', id, ...asAnna)
    assertRefused(again, 1, /You have not claimed this message/)
  })

  test('says that a receiver without a name has it, or that it is not there yet', async () => {
    const { run, ids, backend } = await inboxScene('first')
    await backend.receive({ queue: 'handoff', max: 1 })
    const taken = await run('inbox', 'claim', 'handoff', ids[0] ?? '')
    assertRefused(taken, 1, /An unnamed receiver has claimed the message/)
    const messages = [{ body: 'later', delayMs: 60_000 }]
    const [sent] = await backend.send({ queue: 'handoff', messages })
    const id = sent?.status === 'created' ? sent.id : ''
    assertRefused(await run('inbox', 'claim', 'handoff', id), 1, /The message is delayed/)
  })

  test('ends with 3 when there is nothing, no such message, or no such queue', async () => {
    const { run } = await inboxScene()
    assertRefused(await run('inbox', 'claim', 'handoff'), 3, /No messages are waiting in handoff/)
    for (const args of [
      ['show', 'handoff', 'x'],
      ['claim', 'handoff', 'x'],
      ['renew', 'handoff', 'x'],
      ['note', 'handoff', 'x', 'text'],
      ['resolve', 'handoff', 'x'],
      ['release', 'handoff', 'x'],
    ]) {
      assertRefused(await run('inbox', ...args), 3, /The message x does not exist in handoff/)
    }
    assertRefused(await run('inbox', 'list', 'handof'), 3, /did you mean 'handoff'/)
  })

  test.each([
    ['a tab that is none', ['list', 'handoff', '--tab', 'theirs'], /one of mine, unassigned, all/],
    ['a claim for too long', ['claim', 'handoff', '--for', '13h'], /from 1s to 12h/],
    ['a name that is none', ['claim', 'handoff', '--by', ''], /by: got ''/],
    ['a note without words', ['note', 'handoff', 'x', ''], /note: got ''/],
    ['no message', ['resolve', 'handoff'], /missing required argument 'id'/],
  ])('refuses %s', async (_what, args, line) => {
    const { run } = await inboxScene('first')
    assertRefused(await run('inbox', ...args), 2, line)
  })

  test('needs a store', async () => {
    const { run } = await cliScene()
    assertRefused(await run('inbox', 'list', 'handoff'), 6, /There is no store/)
  })
})
