/** What clients of emulators and older clients do beside plain SQS: health, other services, old signatures. */
import assert from 'node:assert/strict'
import { ListBucketsCommand, S3Client } from '@aws-sdk/client-s3'
import { describe, onTestFinished, test } from 'vitest'
import { version } from '../../../src/version.ts'
import { jsonType, rawWire, signedBy } from './raw-wire.ts'
import { accessKeyId, secretAccessKey } from './signed-request.ts'

const wire = rawWire()
const guarded = rawWire({ accessKeys: [{ accessKeyId, secretAccessKey }] })
const form = { 'content-type': 'application/x-www-form-urlencoded' }

const signedFor = (service: string): Record<string, string> => {
  const { authorization = '' } = signedBy('test')
  return { authorization: authorization.replace('/sqs/', `/${service}/`) }
}

describe('/_localstack/health', () => {
  test('says that SQS is running, also where access keys are needed', async () => {
    for (const { url } of [wire, guarded]) {
      const answer = await fetch(`${url}/_localstack/health?reload`)
      assert.equal(answer.status, 200)
      assert.equal(answer.headers.get('content-type'), 'application/json')
      const services = { sqs: 'running' }
      assert.deepEqual(await answer.json(), { services, edition: 'millrace', version })
    }
    const head = await wire.fetch('/_localstack/health', { method: 'HEAD' })
    assert.deepEqual([head.status, head.text], [200, ''])
  })
})

describe('a call for another service of AWS', () => {
  const text = /This server supports only SQS, but the request is for '(.*?)'/

  test('gets an error of the JSON protocol where the client names a target', async () => {
    const headers = { 'content-type': jsonType, 'x-amz-target': 'DynamoDB_20120810.ListTables' }
    for (const { url } of [wire, guarded]) {
      const signed = { ...headers, ...signedFor('dynamodb'), 'x-amz-date': '20260101T000000Z' }
      const answer = await fetch(url, { method: 'POST', headers: signed, body: '{}' })
      assert.equal(answer.status, 400)
      const body = (await answer.json()) as { readonly __type: string; readonly message: string }
      assert.equal(body.__type, 'com.amazon.coral.service#UnknownOperationException')
      assert.equal(text.exec(body.message)?.[1], 'DynamoDB_20120810')
    }
  })

  test('gets XML where the client speaks Query, also for actions that SQS has too', async () => {
    for (const Action of ['Publish', 'AddPermission']) {
      const body = new URLSearchParams({ Action, Version: '2010-03-31' })
      const headers = { ...form, ...signedFor('sns') }
      const answer = await wire.fetch('/', { method: 'POST', headers, body: `${body}` })
      assert.equal(answer.status, 400)
      assert.match(answer.text, /<Code>InvalidAction<\/Code>/)
      assert.match(answer.text, /supports only SQS, but the request is for &apos;sns&apos;/)
    }
  })

  test('is told apart without a signature by the version of the API', async () => {
    const call = { Action: 'GetCallerIdentity', Version: '2011-06-15' }
    const answer = await wire.query(call)
    assert.equal(answer.status, 400)
    assert.match(answer.text, /<Code>InvalidAction<\/Code>/)
    assert.match(answer.text, /supports only SQS/)
    const own = await wire.query({ Action: 'Nothing', Version: '2012-11-05' })
    assert.match(own.text, /The action Nothing is not valid for this endpoint\./)
  })

  test('says so to the SDK for S3', async () => {
    const client = new S3Client({
      endpoint: wire.url,
      region: 'us-east-1',
      credentials: { accessKeyId, secretAccessKey },
      forcePathStyle: true,
    })
    onTestFinished(() => client.destroy())
    await assert.rejects(client.send(new ListBucketsCommand({})), {
      name: 'InvalidAction',
      message: text,
    })
  })

  test('gets XML where it is presigned for S3', async () => {
    const credential = 'test%2F20260101%2Fus-east-1%2Fs3%2Faws4_request'
    const query = `X-Amz-Algorithm=AWS4-HMAC-SHA256&X-Amz-Credential=${credential}&X-Amz-Signature=0`
    for (const method of ['GET', 'PUT']) {
      const answer = await wire.fetch(`/foo/bar/k?${query}`, { method })
      assert.equal(answer.status, 400)
      assert.match(answer.text, /supports only SQS, but the request is for &apos;s3&apos;/)
    }
  })

  test('gets JSON where the client has neither target nor action', async () => {
    const answer = await wire.fetch('/2015-03-31/functions', { headers: signedFor('lambda') })
    assert.equal(answer.status, 400)
    assert.match(JSON.parse(answer.text).message, text)
  })
})

describe('a form', () => {
  test('is Query, whatever X-Amz-Target says', async () => {
    const QueueUrl = await wire.create('from-perl')
    const headers = { ...form, 'x-amz-target': 'AmazonSQS.SendMessage' }
    const body = new URLSearchParams({ Action: 'SendMessage', QueueUrl, MessageBody: 'hi' })
    const answer = await wire.fetch('/', { method: 'POST', headers, body: `${body}` })
    assert.equal(answer.status, 200)
    assert.match(answer.text, /<SendMessageResponse /)
    const received = await wire.json('ReceiveMessage', { QueueUrl })
    assert.equal(received.body.Messages[0].Body, 'hi')
  })
})

describe('an older signature, where access keys are needed', () => {
  const older = {
    AWSAccessKeyId: accessKeyId,
    Action: 'ListQueues',
    Signature: 'c2lnbmF0dXJl',
    SignatureMethod: 'HmacSHA256',
    SignatureVersion: '2',
    Timestamp: '2026-01-01T00:00:00Z',
  }

  test.each([
    ['in the address', { path: `/?${new URLSearchParams(older)}`, init: {} }],
    [
      'in a form',
      { path: '/', init: { method: 'POST', headers: form, body: `${new URLSearchParams(older)}` } },
    ],
    [
      'in a header',
      {
        path: '/',
        init: { method: 'POST', headers: { authorization: `AWS ${accessKeyId}:c2lnbmF0dXJl` } },
      },
    ],
  ])('%s gets IncompleteSignature, which names Version 4', async (_where, { path, init }) => {
    const answer = await guarded.fetch(path, init)
    assert.equal(answer.status, 400)
    assert.match(answer.text, /<Code>IncompleteSignature<\/Code>/)
    assert.match(answer.text, /AWS Signature Version 4 \(AWS4-HMAC-SHA256\)/)
  })

  test('is not looked for in a long form of a stranger', async () => {
    const body = `${new URLSearchParams(older)}&MessageBody=${'x'.repeat(20_000)}`
    const answer = await guarded.fetch('/', { method: 'POST', headers: form, body })
    assert.match(answer.text, /<Code>MissingAuthenticationToken<\/Code>/)
  })

  test('is told from none', async () => {
    const init = { method: 'POST', headers: form, body: 'Action=ListQueues' }
    const answer = await guarded.fetch('/', init)
    assert.equal(answer.status, 403)
    assert.match(answer.text, /<Code>MissingAuthenticationToken<\/Code>/)
  })
})
