/** Messages of one mebibyte, whatever the protocol makes of them on the way. */
import assert from 'node:assert/strict'
import { describe, test } from 'vitest'
import { awsCommand } from './aws-command.ts'
import {
  assertRefused,
  clientKinds,
  newQueue,
  receive,
  receiveOne,
  send,
  simpleQueue,
} from './queue-scene.ts'
import { wireServer } from './wire-server.ts'

const server = wireServer('sqs-large')

const bytesMax = 1_048_576

/** Each letter of the body is three bytes, and nine in a form. */
const widest = '日'.repeat(bytesMax / 3)

describe.concurrent.each([...clientKinds, awsCommand])('a mebibyte, with $name', (kind) => {
  const open = () => server.client(kind)

  test('goes through in one message', async () => {
    const client = open()
    const queue = await newQueue(client)
    await send(client, queue, widest.padEnd(widest.length + 1, 'x'))
    const message = await receiveOne(client, queue)
    assert.ok(message.Body === `${widest}x`)
  })

  test('is too much with an attribute on top', async () => {
    const client = open()
    const MessageAttributes = { k: { DataType: 'String', StringValue: 'x' } }
    const queue = await newQueue(client)
    const body = 'a'.repeat(bytesMax - 7)
    await assertRefused(send(client, queue, body, { MessageAttributes }), {
      code: 'InvalidParameterValue',
      message:
        'One or more parameters are invalid. Reason: Message must be shorter than 1048576 bytes.',
    })
  })

  test('goes through in ten messages, and not with one byte more', async () => {
    const client = open()
    const { url: QueueUrl } = await newQueue(client)
    const part = 'é'.repeat(bytesMax / 20 - 1)
    const parts = [...Array(10).keys()].map((n) => ({ Id: `${n}`, MessageBody: part }))
    const rest = bytesMax - Buffer.byteLength(part) * 9
    parts[9] = { Id: '9', MessageBody: 'a'.repeat(rest) }
    const { Successful } = await client.call('SendMessageBatch', { QueueUrl, Entries: parts })
    assert.equal(Successful?.length, 10)
    parts[9] = { Id: '9', MessageBody: 'a'.repeat(rest + 1) }
    await assertRefused(client.call('SendMessageBatch', { QueueUrl, Entries: parts }), {
      code: simpleQueue('BatchRequestTooLong'),
      message: 'Batch requests cannot be longer than 1048576 bytes. You have sent 1048577 bytes.',
    })
    assert.ok((await receive(client, { url: QueueUrl })).length === 10)
  })
})
