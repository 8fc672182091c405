/** What the webhooks accept and refuse. */
import assert from 'node:assert/strict'
import { describe, test } from 'vitest'
import { ada, ben, cleo, emil } from '../demo/sample-conversations.ts'
import { emailSignature, emailSignatureHeader } from '../webhooks/email-signature.ts'
import { isTwilioSignature, twilioSignature } from '../webhooks/twilio-signature.ts'
import { type Fixture, from, minute, openFixture, publicUrl, secrets } from './fixture.ts'

const form = { 'content-type': 'application/x-www-form-urlencoded' }
const json = { 'content-type': 'application/json' }

const fields = {
  MessageSid: 'SM1',
  From: ben.customer,
  To: ben.line,
  Body: 'Grüße & 100 % = gut + 1',
}

/** A form with its signature. */
function signedForm(of: Readonly<Record<string, string>>, path = '/webhooks/sms') {
  const entries = Object.entries(of)
  const url = publicUrl + path
  const signature = twilioSignature(secrets.twilioAuthToken, { url, fields: entries })
  const body = new URLSearchParams(entries).toString()
  return { path, body, headers: { ...form, 'x-twilio-signature': signature } }
}

async function post(
  { provider }: Fixture,
  { path, body, headers }: ReturnType<typeof signedForm>,
): Promise<readonly [number, string]> {
  const { status, outcome } = await provider.post(path, body, headers)
  return [status, outcome]
}

async function nothingStaged({ mill }: Fixture): Promise<void> {
  const { items } = await mill.collectors.conversations.list()
  assert.deepEqual(items, [])
  assert.equal((await mill.queues.triggerDelay.statistics()).delayed, 0)
}

/** Log lines about refused messages. */
function refusals({ lines }: Fixture): Fixture['lines'] {
  return lines.filter(({ message }) => message === 'message refused')
}

describe("Twilio's signature", () => {
  test("matches the example in Twilio's documentation", () => {
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

  test('includes each value of a repeated field once, sorted', () => {
    const sign = (...values: readonly string[]): string =>
      twilioSignature('t', { url: publicUrl, fields: values.map((value) => ['Media', value]) })
    assert.equal(sign('b', 'a', 'b'), sign('a', 'b'))
    assert.notEqual(sign('a', 'b'), sign('a'))
  })

  test.each([
    ['https://a.example/hook', 'https://a.example:443/hook'],
    ['https://a.example:8443/hook?x=1', 'https://a.example/hook?x=1'],
    ['http://a.example/hook', 'http://a.example:80/hook'],
  ])('of %s is valid with and without the port', (url, signed) => {
    const given = twilioSignature('t', { url: signed, fields: [] })
    assert.ok(isTwilioSignature('t', { url, fields: [] }, given))
    assert.ok(!isTwilioSignature('t', { url: url.replace('a.', 'b.'), fields: [] }, given))
  })
})

describe('a webhook', () => {
  test('accepts any text, and returns empty XML', async () => {
    const fixture = await openFixture()
    const { path, body, headers } = signedForm(fields)
    const answer = await fixture.provider.post(path, body, headers)
    assert.deepEqual([answer.status, answer.outcome], [200, 'staged'])
    assert.equal(answer.body, '<?xml version="1.0" encoding="UTF-8"?><Response/>')
    const waiting = await fixture.mill.collectors.conversations.inspect(ben.conversation_id)
    assert.equal(Object(waiting?.items[0]?.item).body, fields.Body)
  })

  test('includes its query string in the signature', async () => {
    const fixture = await openFixture()
    const signed = signedForm(fields, '/webhooks/sms?tenant=a')
    assert.deepEqual(await post(fixture, { ...signed, path: '/webhooks/sms?tenant=b' }), [
      403,
      'signature_wrong',
    ])
    assert.deepEqual(await post(fixture, signed), [200, 'staged'])
  })

  test('refuses a missing signature and one for another request', async () => {
    const fixture = await openFixture()
    const signed = signedForm(fields)
    for (const wrong of [
      { ...signed, headers: { ...form, 'x-twilio-signature': '' } },
      { ...signed, headers: { ...form, 'x-twilio-signature': 'Ü' } },
      { ...signed, body: signed.body.replace('SM1', 'SM2') },
      { ...signed, body: `${signed.body}&NumMedia=1` },
      { ...signed, path: '/webhooks/whatsapp' },
    ]) {
      assert.deepEqual(await post(fixture, wrong), [403, 'signature_wrong'])
    }
    await nothingStaged(fixture)
  })

  test.each([
    ['a field is missing', { ...fields, MessageSid: '' }],
    ['an id has a line break', { ...fields, MessageSid: 'SM\n1' }],
    ['a text is too long', { ...fields, Body: 'x'.repeat(16_001) }],
  ])('returns 400 when %s', async (_, wrong) => {
    const fixture = await openFixture()
    assert.deepEqual(await post(fixture, signedForm(wrong)), [400, 'fields_missing_or_wrong'])
    await nothingStaged(fixture)
  })

  test('returns 413 for a large body, and 415 for another content type', async () => {
    const fixture = await openFixture()
    const large = signedForm({ ...fields, Body: 'x'.repeat(200_000) })
    assert.deepEqual(await post(fixture, large), [413, 'body_too_large'])
    const { path, headers } = signedForm(fields)
    const other = { path, body: JSON.stringify(fields), headers: { ...headers, ...json } }
    assert.deepEqual(await post(fixture, other), [415, 'form_expected'])
  })

  test('replaces characters that SQS does not allow', async () => {
    const { provider, outbox, startWorker, passing } = await openFixture()
    startWorker()
    for (const [index, odd] of ['\u0000', '\u0007', '\uFFFE', '\uFFFF'].entries()) {
      const { status } = await provider.deliver(from(ada, `SM${index}`, `a${odd}b 🙂`))
      assert.equal(status, 200)
    }
    await passing(() => outbox.sent.length > 0)
    assert.match(outbox.sent[0]?.body ?? '', /"(a\uFFFDb 🙂 ?){4}"/)
  })
})

describe('a refused message', () => {
  test('of an unknown conversation returns 404, is recorded once, and is not staged', async () => {
    const fixture = await openFixture()
    const { provider, conversations, clock } = fixture
    const stranger = { ...from(ben, 'SM1', 'hello'), from: '+15550100042' }
    for (let attempt = 0; attempt < 2; attempt += 1) {
      const { status, outcome } = await provider.deliver(stranger)
      assert.deepEqual([status, outcome], [404, 'unknown_conversation'])
    }
    const at = new Date(clock.now()).toISOString()
    assert.deepEqual(conversations.refused, [
      { message_sid: 'SM1', channel_type: 'sms', because: 'unknown_conversation', at },
    ])
    const fields = { channel: 'sms', message_sid: 'SM1', status: 'unknown_conversation' }
    const line = { level: 'warn', message: 'message refused' }
    const logged = { ...line, fields: { ...fields, conversationId: null } }
    assert.deepEqual(refusals(fixture), [logged, logged])
    await nothingStaged(fixture)
  })

  test.each([
    ['its project has ended', emil, 'project_inactive'],
    ['its channel is not allowed', { ...ben, allowed_channels: ['email'] }, 'channel_not_allowed'],
  ] as const)('because %s returns 422 and is recorded', async (_, conversation, because) => {
    const fixture = await openFixture()
    const { provider, conversations } = fixture
    conversations.add(conversation)
    const { status, outcome } = await provider.deliver(from(conversation, 'SM1', 'hello'))
    assert.deepEqual([status, outcome], [422, because])
    assert.deepEqual(
      conversations.refused.map((refused) => refused.because),
      [because],
    )
    const [line, ...others] = refusals(fixture)
    assert.deepEqual(others, [])
    assert.deepEqual(line?.fields, {
      channel: 'sms',
      message_sid: 'SM1',
      status: because,
      conversationId: conversation.conversation_id,
    })
    await nothingStaged(fixture)
  })
})

describe('the webhook for e-mail', () => {
  const mail = { message_id: '<1@x>', from: cleo.customer, to: cleo.line, text: 'hello' }
  const body = JSON.stringify(mail)

  async function postMail({ provider, clock }: Fixture, content: string, offMs = 0) {
    const signature = emailSignature(secrets.emailSecret, content, clock.now() + offMs)
    const headers = { ...json, [emailSignatureHeader]: signature }
    const { status, outcome } = await provider.post('/webhooks/email', content, headers)
    return [status, outcome]
  }

  test('accepts a signature that is at most five minutes old', async () => {
    const fixture = await openFixture()
    for (const offMs of [5 * minute + 1_000, -5 * minute - 1_000]) {
      assert.deepEqual(await postMail(fixture, body, offMs), [403, 'signature_wrong'])
    }
    await nothingStaged(fixture)
    assert.deepEqual(await postMail(fixture, body, -5 * minute), [200, 'staged'])
    assert.deepEqual(await postMail(fixture, body), [200, 'duplicate'])
  })

  test('refuses a signature for another body or with another secret, and no signature', async () => {
    const fixture = await openFixture()
    const { provider, clock } = fixture
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
    await nothingStaged(fixture)
  })

  test.each([
    'no JSON',
    '[]',
    JSON.stringify({ ...mail, from: 'nobody' }),
    JSON.stringify({ ...mail, text: 1 }),
  ])('returns 400 for %s', async (content) => {
    const fixture = await openFixture()
    assert.deepEqual(await postMail(fixture, content), [400, 'fields_missing_or_wrong'])
  })
})
