import assert from 'node:assert/strict'
import type { MessageAttribute, NewMessage } from '../../backends/backend.ts'
import { limits } from '../../core/limits.ts'
import { assertRefused, created, grouped, only, rejects } from './scene.ts'
import type { ContractSuite } from './suite.ts'

export function describeSending(suite: ContractSuite): void {
  suite.describe('sending', () => {
    describeAnswers(suite)
    describeContents(suite)
    describeAttributes(suite)
  })
}

const tooLarge: NewMessage = { body: 'x'.repeat(1_025) }

function describeAnswers(suite: ContractSuite): void {
  suite.test('each message has its own answer, in the order given', async (scene) => {
    await scene.queue('small', { messageBytesMax: 1_024 })
    const results = await scene.backend.send({
      queue: 'small',
      messages: [{ body: 'first' }, tooLarge, { body: 'third' }],
    })
    const [first, refused, third] = results
    assert.ok(first && refused && third && results.length === 3)
    assertRefused(refused, 'message_too_large')
    const { id: firstId, sequence: firstSequence } = created(first)
    const { id: thirdId, sequence: thirdSequence } = created(third)
    assert.notEqual(firstId, thirdId)
    assert.ok(firstSequence < thirdSequence)
    const received = await scene.receive('small')
    assert.deepEqual(
      received.map(({ id, sequence, body }) => ({ id, sequence, body })),
      [
        { id: firstId, sequence: firstSequence, body: 'first' },
        { id: thirdId, sequence: thirdSequence, body: 'third' },
      ],
    )
  })

  suite.test(
    'all or nothing: the first refusal rejects the call and nothing is kept',
    async (scene) => {
      await scene.queue('small', { messageBytesMax: 1_024 })
      const send = (...messages: NewMessage[]) =>
        scene.backend.send({ queue: 'small', messages, allOrNothing: true })
      await rejects(send({ body: 'first' }, tooLarge, { body: 'third' }), 'message_too_large')
      assert.deepEqual(await scene.counts('small'), { ready: 0, leased: 0, delayed: 0 })
      assert.equal((await scene.statistics('small')).totals.sent, 0)
      assert.equal((await send({ body: 'first' }, { body: 'third' })).length, 2)
      assert.deepEqual(await scene.receiveBodies('small'), ['first', 'third'])
    },
  )

  suite
    .needing('fifo')
    .test('all or nothing: a refused call remembers no deduplication id', async (scene) => {
      await scene.fifoQueue('small.fifo', { messageBytesMax: 1_024 })
      const message = grouped('g', 'body')
      const call = { queue: 'small.fifo', allOrNothing: true }
      await rejects(
        scene.backend.send({ ...call, messages: [message, { ...tooLarge, group: 'g' }] }),
        'message_too_large',
        'deduplication_id_missing',
      )
      created(only(await scene.backend.send({ ...call, messages: [message] })))
    })

  suite.test('a call without messages, or with too many, is refused', async ({ backend }) => {
    await backend.createQueue({ queue: 'q' })
    await rejects(backend.send({ queue: 'q', messages: [] }), 'invalid_argument')
    const messages = Array.from({ length: limits.messagesPerCall.max + 1 }, () => ({ body: 'x' }))
    await rejects(backend.send({ queue: 'q', messages }), 'invalid_argument')
    await rejects(backend.send({ queue: 'none', messages: [{ body: 'x' }] }), 'queue_not_found')
  })

  suite.test('many sends at once are all answered and all kept', async (scene) => {
    await scene.queue('busy')
    const bodies = Array.from({ length: 200 }, (_, index) => `m${index}`)
    const ids = (await Promise.all(bodies.map((body) => scene.send('busy', body)))).flat()
    assert.equal(new Set(ids).size, 200)
    const received = await scene.receiveBodies('busy', { max: 1_000 })
    assert.deepEqual(received, bodies)
  })

  suite.test('one refused call does not fail the calls beside it', async (scene) => {
    await scene.queue('a', { messageBytesMax: 1_024 })
    await scene.queue('b')
    const outcomes = await Promise.allSettled([
      scene.send('a', 'one'),
      scene.send('missing', 'two'),
      scene.backend.send({ queue: 'a', messages: [tooLarge], allOrNothing: true }),
      scene.send('b', 'three'),
    ])
    assert.deepEqual(
      outcomes.map(({ status }) => status),
      ['fulfilled', 'rejected', 'rejected', 'fulfilled'],
    )
    assert.deepEqual(await scene.receiveBodies('a'), ['one'])
    assert.deepEqual(await scene.receiveBodies('b'), ['three'])
  })

  suite.needing('reopen').test('what was sent is there after a restart', async (scene) => {
    await scene.queue('kept')
    const ids = await scene.send('kept', 'one', 'two')
    await scene.reopen()
    assert.deepEqual(
      (await scene.receive('kept')).map(({ id, body }) => [id, body]),
      [
        [ids[0], 'one'],
        [ids[1], 'two'],
      ],
    )
  })
}

function describeContents(suite: ContractSuite): void {
  suite.test('the size limit counts bytes of the body, not characters', async (scene) => {
    await scene.queue('small', { messageBytesMax: 1_024 })
    await scene.send('small', 'é'.repeat(512))
    assertRefused(await scene.sendOne('small', { body: 'é'.repeat(513) }), 'message_too_large')
  })

  suite.test('the size limit counts names, types and values of attributes too', async (scene) => {
    await scene.queue('small', { messageBytesMax: 1_024 })
    const withAttribute = (bodyBytes: number): NewMessage => ({
      body: 'x'.repeat(bodyBytes),
      attributes: {
        name: { type: 'String', value: 'value' },
        raw: { type: 'Binary', value: new Uint8Array(10) },
      },
    })
    const attributeBytes = 'nameStringvalue'.length + 'rawBinary'.length + 10
    await scene.send('small', withAttribute(1_024 - attributeBytes))
    assertRefused(
      await scene.sendOne('small', withAttribute(1_025 - attributeBytes)),
      'message_too_large',
    )
  })

  suite.test('a message of the largest size is received whole', async (scene) => {
    await scene.queue('large')
    const body = 'z'.repeat(limits.messageBytesMax.max)
    await scene.send('large', body)
    const delivery = await scene.receiveOne('large')
    assert.ok(delivery.body === body)
    assertRefused(await scene.sendOne('large', { body: `${body}z` }), 'message_too_large')
  })

  suite.test('characters that XML cannot carry are refused, entry by entry', async (scene) => {
    await scene.queue('q')
    const forbidden = [
      '\u0000',
      '\u0001',
      '\u000b',
      '\u001f',
      '\ufffe',
      '\uffff',
      '\ud800',
      '\udc00x',
    ]
    const results = await scene.backend.send({
      queue: 'q',
      messages: [...forbidden.map((body) => ({ body: `a${body}` })), { body: 'fine' }],
    })
    for (const result of results.slice(0, -1)) assertRefused(result, 'invalid_message')
    assert.equal(results.at(-1)?.status, 'created')
  })

  suite.test('an empty body is refused', async (scene) => {
    await scene.queue('q')
    assertRefused(await scene.sendOne('q', { body: '' }), 'invalid_argument')
  })

  suite.test('all other characters are received as they were sent', async (scene) => {
    await scene.queue('q')
    const bodies = [
      '\t\n\r',
      'ü€😀',
      '\u0085\u2028\u2029\ufeff',
      '</Body>&amp;"\'',
      '\ud7ff\ue000\ufffd',
    ]
    await scene.send('q', ...bodies)
    assert.deepEqual(await scene.receiveBodies('q'), bodies)
  })

  suite.test('texts with quotes and statements are plain data', async (scene) => {
    await scene.queue('q')
    const hostile = `'; DROP TABLE messages; -- $$ "x" \\`
    await scene.send('q', {
      body: hostile,
      systemAttributes: { sender: hostile },
      attributes: { name: { type: 'String', value: hostile } },
    })
    const delivery = await scene.receiveOne('q')
    assert.equal(delivery.body, hostile)
    assert.equal(delivery.systemAttributes['sender'], hostile)
    assert.equal(delivery.attributes['name']?.value, hostile)
  })

  suite.test('names known to every object are plain data', async (scene) => {
    await scene.queue('q')
    const attributes = Object.fromEntries(
      ['constructor', 'toString', 'hasOwnProperty'].map((name) => [
        name,
        { type: 'String', value: name },
      ]),
    )
    await scene.send('q', { body: '{"__proto__":{"polluted":true}}', attributes })
    const delivery = await scene.receiveOne('q')
    assert.deepEqual(
      Object.keys(delivery.attributes).toSorted(),
      Object.keys(attributes).toSorted(),
    )
    assert.equal(Object.hasOwn(Object.prototype, 'polluted'), false)
  })

  suite.test('a group on a standard queue is kept as the tenant', async (scene) => {
    await scene.queue('q')
    await scene.send('q', { body: 'one', group: 'tenant' }, { body: 'two', group: 'tenant' })
    const received = await scene.receive('q')
    assert.deepEqual(
      received.map(({ body, group }) => [body, group]),
      [
        ['one', 'tenant'],
        ['two', 'tenant'],
      ],
    )
    assertRefused(
      await scene.sendOne('q', { body: 'x', group: 'g'.repeat(129) }),
      'invalid_argument',
    )
  })
}

function describeAttributes(suite: ContractSuite): void {
  suite.test(
    'attributes are received with type and value, binary ones byte by byte',
    async (scene) => {
      await scene.queue('q')
      const bytes = Uint8Array.from({ length: 256 }, (_, index) => index)
      const attributes: Record<string, MessageAttribute> = {
        text: { type: 'String', value: 'ünïcode' },
        number: { type: 'Number', value: '-1.50e10' },
        custom: { type: 'Number.float', value: '0.1' },
        raw: { type: 'Binary', value: bytes },
        'raw.png': { type: 'Binary.png', value: Uint8Array.of(0) },
      }
      const systemAttributes = { sender: 'me', trace: 'Root=1-x' }
      await scene.send('q', { body: 'b', attributes, systemAttributes })
      const delivery = await scene.receiveOne('q')
      assert.deepEqual(
        Object.keys(delivery.attributes).toSorted(),
        Object.keys(attributes).toSorted(),
      )
      for (const [name, { type, value }] of Object.entries(attributes)) {
        const got = delivery.attributes[name]
        assert.equal(got?.type, type)
        const plain = (raw: string | Uint8Array | undefined): unknown =>
          raw instanceof Uint8Array ? [...raw] : raw
        assert.deepEqual(plain(got.value), plain(value))
      }
      assert.deepEqual({ ...delivery.systemAttributes }, systemAttributes)
    },
  )

  suite.test('a message without attributes has none', async (scene) => {
    await scene.queue('q')
    await scene.send('q', 'bare')
    const delivery = await scene.receiveOne('q')
    assert.deepEqual({ ...delivery.attributes }, {})
    assert.deepEqual({ ...delivery.systemAttributes }, {})
    assert.deepEqual(
      [delivery.group, delivery.deduplicationId, delivery.deadLetterOrigin],
      [null, null, null],
    )
  })

  suite.test('attributes outside the rules are refused', async (scene) => {
    await scene.queue('q')
    const text: MessageAttribute = { type: 'String', value: 'x' }
    const eleven = Object.fromEntries(Array.from({ length: 11 }, (_, index) => [`a${index}`, text]))
    const refused: Record<string, MessageAttribute>[] = [
      eleven,
      { ['n'.repeat(257)]: text },
      { 'aws.name': text },
      { 'dotted..name': text },
      { name: { type: 'Text', value: 'x' } },
      { name: { type: 'String', value: '' } },
      { name: { type: 'Number', value: 'twelve' } },
      { name: { type: 'String', value: 'a\u0000' } },
      { name: { type: 'Binary', value: 'not bytes' } },
      { name: { type: 'String', value: Uint8Array.of(1) } },
    ]
    for (const attributes of refused) {
      const result = await scene.sendOne('q', { body: 'b', attributes })
      assertRefused(result, 'invalid_argument')
    }
    assert.equal((await scene.counts('q')).ready, 0)
  })
}
