/** Clients that leave, and a server that stops: nobody's message is swallowed. */
import assert from 'node:assert/strict'
import { connect, type Socket } from 'node:net'
import { describe, test } from 'vitest'
import { serve } from '../../../src/server.ts'
import { type VirtualClock, virtualPorts } from '../../../src/testing/virtual-clock.ts'
import { inTemporaryFolder } from '../../support/temporary-folder.ts'
import { jsonType, rawWire } from './raw-wire.ts'

const wire = rawWire()

/** A client that has asked and listens no more than it is told to. */
async function asking(port: number, input: unknown): Promise<Socket> {
  const socket = connect({ port, host: '127.0.0.1' })
  await new Promise<void>((resolve) => {
    socket.write(requestText(input), () => resolve())
  })
  return socket
}

function requestText(input: unknown): string {
  const body = JSON.stringify(input)
  const head = [
    'POST / HTTP/1.1',
    'Host: localhost',
    `Content-Type: ${jsonType}`,
    'X-Amz-Target: AmazonSQS.ReceiveMessage',
    `Content-Length: ${body.length}`,
  ]
  return `${head.join('\r\n')}\r\n\r\n${body}`
}

/** Until so many timers wait: each long poll brings its own. */
async function timers(clock: VirtualClock, count: number): Promise<void> {
  while (clock.pendingTimers < count) await nextTurn()
}

function nextTurn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve))
}

const attributes = ['ApproximateReceiveCount']

describe('an abandoned long poll', () => {
  test('swallows no message, and no message is charged a receive', async () => {
    const QueueUrl = await wire.create('abandoned')
    const before = wire.clock.pendingTimers
    const client = await asking(wire.server.port, { QueueUrl, WaitTimeSeconds: 20 })
    await timers(wire.clock, before + 1)
    client.destroy()
    await wire.json('SendMessage', { QueueUrl, MessageBody: 'for the next one' })
    // It waits for the case that the server hears of the end only when it wants to answer.
    const receive = { QueueUrl, AttributeNames: attributes, WaitTimeSeconds: 20 }
    const { body } = await wire.json('ReceiveMessage', receive)
    assert.equal(body.Messages[0].Body, 'for the next one')
    assert.equal(body.Messages[0].Attributes.ApproximateReceiveCount, '1')
  })

  test('that stands behind another one on its connection swallows nothing either', async () => {
    const first = await wire.create('pipelined-first')
    const QueueUrl = await wire.create('pipelined-second')
    const before = wire.clock.pendingTimers
    const client = await asking(wire.server.port, { QueueUrl: first, WaitTimeSeconds: 20 })
    client.write(requestText({ QueueUrl, WaitTimeSeconds: 20 }))
    await timers(wire.clock, before + 2)
    client.destroy()
    // Both have heard of it, also the one whose answer had no connection yet.
    while (wire.clock.pendingTimers > before) await nextTurn()
    await wire.json('SendMessage', { QueueUrl, MessageBody: 'for the next one' })
    const receive = { QueueUrl, AttributeNames: attributes }
    const { body } = await wire.json('ReceiveMessage', receive)
    assert.equal(body.Messages[0].Body, 'for the next one')
    assert.equal(body.Messages[0].Attributes.ApproximateReceiveCount, '1')
  })

  test('gives back what it got when nobody is there to take it', async () => {
    const QueueUrl = await wire.create('given-back')
    // More than a socket holds for a client that does not read.
    const MessageBody = 'x'.repeat(1_000_000)
    for (let count = 0; count < 10; count += 1) {
      await wire.json('SendMessage', { QueueUrl, MessageBody })
    }
    const client = await asking(wire.server.port, { QueueUrl, MaxNumberOfMessages: 10 })
    client.pause()
    const counts = async () => {
      const AttributeNames = [
        'ApproximateNumberOfMessages',
        'ApproximateNumberOfMessagesNotVisible',
      ]
      const { body } = await wire.json('GetQueueAttributes', { QueueUrl, AttributeNames })
      return body.Attributes
    }
    while ((await counts()).ApproximateNumberOfMessagesNotVisible !== '10') await nextTurn()
    client.destroy()
    while ((await counts()).ApproximateNumberOfMessages !== '10') await nextTurn()
    const { body } = await wire.json('ReceiveMessage', { QueueUrl, AttributeNames: attributes })
    assert.equal(body.Messages[0].Attributes.ApproximateReceiveCount, '1')
  })
})

describe('a server that stops', () => {
  test('answers parked long polls with nothing', () =>
    inTemporaryFolder('stopping', async (folder) => {
      const ports = virtualPorts()
      const server = await serve({ port: 0, data: folder.path, ports })
      await fetch(`${server.url}/?Action=CreateQueue&QueueName=parked`)
      const before = ports.clock.pendingTimers
      const path = '/000000000000/parked?Action=ReceiveMessage&WaitTimeSeconds=20'
      const parked = [fetch(server.url + path), fetch(server.url + path)]
      // A deadline for each, and two timers of the store for all who wait.
      await timers(ports.clock, before + 4)
      await server.stop()
      for (const response of await Promise.all(parked)) {
        assert.equal(response.status, 200)
        assert.match(await response.text(), /<ReceiveMessageResult\/>/)
      }
    }))
})
