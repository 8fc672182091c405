/** What the webhooks take, and what they refuse. */
import assert from 'node:assert/strict'
import { describe, test } from 'vitest'
import { ada, ben, cleo, emil } from '../demo/sample-conversations.ts'
import { emailSignature, emailSignatureHeader } from '../webhooks/email-signature.ts'
import { isTwilioSignature, twilioSignature } from '../webhooks/twilio-signature.ts'
import { from, minute, openScene, publicUrl, type Scene, secrets } from './scene.ts'

const form = { 'content-type': 'application/x-www-form-urlencoded' }
const json = { 'content-type': 'application/json' }

const fields = {
  MessageSid: 'SM1',
  From: ben.customer,
  To: ben.line,
  Body: 'Grüße & 100 % = gut + 1',
}

/** A form with the signature that belongs to it. */
function signedForm(of: Readonly<Record<string, string>>, path = '/webhooks/sms') {
  const entries = Object.entries(of)
  const url = publicUrl + path
  const signature = twilioSignature(secrets.twilioAuthToken, { url, fields: entries })
  const body = new URLSearchParams(entries).toString()
  return { path, body, headers: { ...form, 'x-twilio-signature': signature } }
}

async function post(
  { provider }: Scene,
  { path, body, headers }: ReturnType<typeof signedForm>,
): Promise<readonly [number, string]> {
  const { status, says } = await provider.post(path, body, headers)
  return [status, says]
}

async function nothingStaged({ mill }: Scene): Promise<void> {
  const { items } = await mill.collectors.conversations.list()
  assert.deepEqual(items, [])
  assert.equal((await mill.queues.triggerDelay.statistics()).delayed, 0)
}

/** What the log says of messages that were refused. */
function refusals({ lines }: Scene): Scene['lines'] {
  return lines.filter(({ message }) => message === 'message refused')
}

describe("Twilio's signature", () => {
  test('is the one that the documentation works out', () => {
    const url = 'https://mycompany.com/myapp.php?foo=1&bar=2'
    const call = {
      CallSid: 'CA1234567890ABCDE',
      Caller: '+12349013030',
      Digits: '1234',
      From: '+12349013030',
      To: '+18005551212',
    }
    const documented = '0/KCTR6DLpKmkAf8muzZqo1nDgQ='
    for (const entries of [Object.entries(call), Object.entries(call).reverse()]) {
      assert.equal(twilioSignature('12345', { url, fields: entries }), documented)
    }
  })

  test('counts each value of a repeated field once, in order', () => {
    const sign = (...values: readonly string[]): string =>
      twilioSignature('t', { url: publicUrl, fields: values.map((value) => ['Media', value]) })
    assert.equal(sign('b', 'a', 'b'), sign('a', 'b'))
    assert.notEqual(sign('a', 'b'), sign('a'))
  })

  test.each([
    ['https://a.example/hook', 'https://a.example:443/hook'],
    ['https://a.example:8443/hook?x=1', 'https://a.example/hook?x=1'],
    ['http://a.example/hook', 'http://a.example:80/hook'],
  ])('of %s is right whether the provider signs the port or not', (url, signed) => {
    const given = twilioSignature('t', { url: signed, fields: [] })
    assert.ok(isTwilioSignature('t', { url, fields: [] }, given))
    assert.ok(!isTwilioSignature('t', { url: url.replace('a.', 'b.'), fields: [] }, given))
  })
})

describe('a webhook', () => {
  test('takes a message in any words, and says nothing back in XML', async () => {
    const scene = await openScene()
    const { path, body, headers } = signedForm(fields)
    const answer = await scene.provider.post(path, body, headers)
    assert.deepEqual([answer.status, answer.says], [200, 'staged'])
    assert.equal(answer.body, '<?xml version="1.0" encoding="UTF-8"?><Response/>')
    const waiting = await scene.mill.collectors.conversations.inspect(ben.conversation_id)
    assert.equal(Object(waiting?.items[0]?.item).body, fields.Body)
  })

  test('takes part in the signature with its query', async () => {
    const scene = await openScene()
    const signed = signedForm(fields, '/webhooks/sms?tenant=a')
    assert.deepEqual(await post(scene, { ...signed, path: '/webhooks/sms?tenant=b' }), [
      403,
      'signature_wrong',
    ])
    assert.deepEqual(await post(scene, signed), [200, 'staged'])
  })

  test('refuses what is not signed, or signed for something else', async () => {
    const scene = await openScene()
    const signed = signedForm(fields)
    for (const wrong of [
      { ...signed, headers: { ...form, 'x-twilio-signature': '' } },
      { ...signed, headers: { ...form, 'x-twilio-signature': 'Ü' } },
      { ...signed, body: signed.body.replace('SM1', 'SM2') },
      { ...signed, body: `${signed.body}&NumMedia=1` },
      { ...signed, path: '/webhooks/whatsapp' },
    ]) {
      assert.deepEqual(await post(scene, wrong), [403, 'signature_wrong'])
    }
    await nothingStaged(scene)
  })

  test.each([
    ['a field is missing', { ...fields, MessageSid: '' }],
    ['an id has a line break', { ...fields, MessageSid: 'SM\n1' }],
    ['a text is too long', { ...fields, Body: 'x'.repeat(16_001) }],
  ])('answers 400 when %s', async (_, wrong) => {
    const scene = await openScene()
    assert.deepEqual(await post(scene, signedForm(wrong)), [400, 'fields_missing_or_wrong'])
    await nothingStaged(scene)
  })

  test('answers 413 to a large body, and 415 to what is not a form', async () => {
    const scene = await openScene()
    const large = signedForm({ ...fields, Body: 'x'.repeat(200_000) })
    assert.deepEqual(await post(scene, large), [413, 'body_too_large'])
    const { path, headers } = signedForm(fields)
    const other = { path, body: JSON.stringify(fields), headers: { ...headers, ...json } }
    assert.deepEqual(await post(scene, other), [415, 'form_expected'])
  })

  test('replaces what no queue can carry, so that one character does not stop a conversation', async () => {
    const { provider, outbox, startWorker, passing } = await openScene()
    startWorker()
    for (const [index, odd] of ['\u0000', '\u0007', '\uFFFE', '\uFFFF'].entries()) {
      const { status } = await provider.deliver(from(ada, `SM${index}`, `a${odd}b 🙂`))
      assert.equal(status, 200)
    }
    await passing(() => outbox.sent.length > 0)
    assert.match(outbox.sent[0]?.body ?? '', /"(a\uFFFDb 🙂 ?){4}"/)
  })
})

describe('a message that cannot be answered', () => {
  test('of an unknown conversation is 404, recorded once, and not staged', async () => {
    const scene = await openScene()
    const { provider, book, clock } = scene
    const stranger = { ...from(ben, 'SM1', 'hello'), from: '+15550100042' }
    for (let attempt = 0; attempt < 2; attempt += 1) {
      const { status, says } = await provider.deliver(stranger)
      assert.deepEqual([status, says], [404, 'unknown_conversation'])
    }
    const at = new Date(clock.now()).toISOString()
    assert.deepEqual(book.refused, [
      { message_sid: 'SM1', channel_type: 'sms', because: 'unknown_conversation', at },
    ])
    const fields = { channel: 'sms', message_sid: 'SM1', status: 'unknown_conversation' }
    const line = { level: 'warn', message: 'message refused' }
    const logged = { ...line, fields: { ...fields, conversationId: null } }
    assert.deepEqual(refusals(scene), [logged, logged])
    await nothingStaged(scene)
  })

  test.each([
    ['its project has ended', emil, 'project_inactive'],
    ['its channel is not allowed', { ...ben, allowed_channels: ['email'] }, 'channel_not_allowed'],
  ] as const)('because %s is 422, and recorded', async (_, conversation, because) => {
    const scene = await openScene()
    const { provider, book } = scene
    book.add(conversation)
    const { status, says } = await provider.deliver(from(conversation, 'SM1', 'hello'))
    assert.deepEqual([status, says], [422, because])
    assert.deepEqual(
      book.refused.map((refused) => refused.because),
      [because],
    )
    const [line, ...others] = refusals(scene)
    assert.deepEqual(others, [])
    assert.deepEqual(line?.fields, {
      channel: 'sms',
      message_sid: 'SM1',
      status: because,
      conversationId: conversation.conversation_id,
    })
    await nothingStaged(scene)
  })
})

describe('the webhook for e-mail', () => {
  const mail = { message_id: '<1@x>', from: cleo.customer, to: cleo.line, text: 'hello' }
  const body = JSON.stringify(mail)

  async function postMail({ provider, clock }: Scene, content: string, offMs = 0) {
    const signature = emailSignature(secrets.emailSecret, content, clock.now() + offMs)
    const headers = { ...json, [emailSignatureHeader]: signature }
    const { status, says } = await provider.post('/webhooks/email', content, headers)
    return [status, says]
  }

  test('takes what was signed within five minutes', async () => {
    const scene = await openScene()
    for (const offMs of [5 * minute + 1_000, -5 * minute - 1_000]) {
      assert.deepEqual(await postMail(scene, body, offMs), [403, 'signature_wrong'])
    }
    await nothingStaged(scene)
    assert.deepEqual(await postMail(scene, body, -5 * minute), [200, 'staged'])
    assert.deepEqual(await postMail(scene, body), [200, 'duplicate'])
  })

  test('refuses another body, another secret, and no signature', async () => {
    const scene = await openScene()
    const { provider, clock } = scene
    const right = emailSignature(secrets.emailSecret, body, clock.now())
    for (const [content, signature] of [
      [body.replace('hello', 'Hello'), right],
      [body, emailSignature('another secret of that length', body, clock.now())],
      [body, right.toUpperCase()],
      [body, ''],
    ] as const) {
      const headers = { ...json, [emailSignatureHeader]: signature }
      const { status } = await provider.post('/webhooks/email', content, headers)
      assert.equal(status, 403)
    }
    await nothingStaged(scene)
  })

  test.each([
    'no JSON',
    '[]',
    JSON.stringify({ ...mail, from: 'nobody' }),
    JSON.stringify({ ...mail, text: 1 }),
  ])('answers 400 to %s', async (content) => {
    const scene = await openScene()
    assert.deepEqual(await postMail(scene, content), [400, 'fields_missing_or_wrong'])
  })
})
