import assert from 'node:assert/strict'
import { test } from 'vitest'
import type { Delivery } from '../backends/backend.ts'
import { defaultHome } from './queue-address.ts'
import {
  formatSequenceNumber,
  systemAttributeNames,
  systemAttributesOf,
} from './system-attributes.ts'

const plain: Delivery = {
  id: 'a',
  sequence: 7,
  body: 'body',
  attributes: {},
  systemAttributes: {},
  group: null,
  deduplicationId: null,
  sentAt: 1_000,
  firstReceivedAt: 2_000,
  receiveCount: 3,
  deadLetterOrigin: null,
  receipt: 'r',
  token: 1,
  leasedAt: 4_000,
  leaseExpiresAt: 5_000,
  job: null,
  unit: null,
}

test('a plain message has four attributes, and its sender is the account of the server', () => {
  assert.deepEqual(systemAttributesOf(plain, defaultHome), {
    SenderId: '000000000000',
    SentTimestamp: '1000',
    ApproximateReceiveCount: '3',
    ApproximateFirstReceiveTimestamp: '2000',
  })
})

test('a message of a FIFO queue has its number, its group and its deduplication id', () => {
  const { SequenceNumber, MessageGroupId, MessageDeduplicationId } = systemAttributesOf(
    { ...plain, group: 'g', deduplicationId: 'd' },
    defaultHome,
  )
  assert.deepEqual(
    [SequenceNumber, MessageGroupId, MessageDeduplicationId],
    ['10000000000000000007', 'g', 'd'],
  )
})

test('a group on a standard queue comes without a number', () => {
  const attributes = systemAttributesOf({ ...plain, group: 'tenant' }, defaultHome)
  assert.equal(attributes['MessageGroupId'], 'tenant')
  assert.equal('SequenceNumber' in attributes, false)
})

test('the sender and the trace header are those that the message came with', () => {
  const systemAttributes = { SenderId: '123456789012', AWSTraceHeader: 'Root=1' }
  const attributes = systemAttributesOf({ ...plain, systemAttributes }, defaultHome)
  assert.equal(attributes['SenderId'], '123456789012')
  assert.equal(attributes['AWSTraceHeader'], 'Root=1')
})

test('a dead letter names its queue, at home and elsewhere', () => {
  const sourceOf = (source: string): string | undefined => {
    const deadLetter = { source, at: 1, reason: null }
    return systemAttributesOf({ ...plain, deadLetterOrigin: deadLetter }, defaultHome)[
      'DeadLetterQueueSourceArn'
    ]
  }
  assert.equal(sourceOf('orders'), 'arn:aws:sqs:us-east-1:000000000000:orders')
  assert.equal(
    sourceOf('eu-west-1:123456789012:orders'),
    'arn:aws:sqs:eu-west-1:123456789012:orders',
  )
})

test('only the attributes that are asked for are answered', () => {
  assert.deepEqual(systemAttributesOf(plain, defaultHome, ['SenderId', 'MessageGroupId']), {
    SenderId: '000000000000',
  })
  assert.equal(systemAttributeNames.length, 9)
})

test('sequence numbers have twenty digits and rise as numbers and as text', () => {
  const numbers = [1, 9, 10, 2 ** 40, Number.MAX_SAFE_INTEGER].map(formatSequenceNumber)
  for (const number of numbers) assert.match(number, /^\d{20}$/)
  assert.deepEqual([...numbers].sort(), numbers)
  assert.deepEqual([...numbers].map(BigInt).sort(), numbers.map(BigInt))
})
