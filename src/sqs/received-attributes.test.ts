import assert from 'node:assert/strict'
import { describe, test } from 'vitest'
import type { Delivery } from '../backends/backend.ts'
import type { MessageAttribute } from '../core/message.ts'
import { receivedAttributes as received } from './received-attributes.ts'

type Sent = Pick<Delivery, 'attributes' | 'systemAttributes'>

function receivedAttributes(sent: Sent): Delivery['attributes'] {
  return received({ ...sent, job: null, leaseExpiresAt: 0 })
}

const traced = { traceparent: '00-a-b-01', tracestate: 'c=d', SenderId: 'me' }

function text(value: string): MessageAttribute {
  return { type: 'String', value }
}

function numbered(count: number): Record<string, MessageAttribute> {
  return Object.fromEntries(Array.from({ length: count }, (_, index) => [`a${index}`, text('x')]))
}

describe('the attributes that SQS clients receive', () => {
  test('are those of the sender, without a trace context', () => {
    const attributes = numbered(2)
    assert.equal(
      receivedAttributes({ attributes, systemAttributes: { SenderId: 'me' } }),
      attributes,
    )
  })

  test('contain the trace context, as long as there are at most ten', () => {
    for (const [count, added] of [
      [0, ['traceparent', 'tracestate']],
      [9, ['traceparent']],
      [10, []],
    ] as const) {
      const attributes = numbered(count)
      const received = receivedAttributes({ attributes, systemAttributes: traced })
      assert.deepEqual(Object.keys(received), [...Object.keys(attributes), ...added])
    }
  })

  test('keep what the sender has written under the same name', () => {
    const attributes = { traceparent: text('mine') }
    const received = receivedAttributes({ attributes, systemAttributes: traced })
    assert.deepEqual(received, { traceparent: text('mine'), tracestate: text('c=d') })
  })
})
