import assert from 'node:assert/strict'
import { describe, test } from 'vitest'
import { HandlerTally } from './handler-tally.ts'

const names: Readonly<Record<string, string>> = { orders: 'shop-dev-orders', mail: 'shop-dev-mail' }

function tally(): HandlerTally {
  return new HandlerTally((key) => names[key])
}

const started = (queue: string, waitedMs: number | null) =>
  ({ event: 'started', queue, durationMs: 0, waitedMs }) as const

const ended = (queue: string, event: 'completed' | 'retried' | 'refused', durationMs: number) =>
  ({ event, queue, durationMs, waitedMs: null }) as const

describe('the tally of handlers', () => {
  test('counts by queue, under the names of the store', () => {
    const counted = tally()
    counted.note(started('orders', 40))
    counted.note(ended('orders', 'retried', 10))
    counted.note(started('orders', null))
    counted.note(ended('orders', 'completed', 30))
    counted.note(ended('mail', 'completed', 1))
    const [orders, mail] = counted.take()
    assert.equal(orders?.queue, 'shop-dev-orders')
    const { ended: count, failed, runs, waits } = orders.handlers
    assert.deepEqual([count, failed], [2, 1])
    assert.deepEqual([runs.count, runs.msSum, runs.msMax], [2, 40, 30])
    assert.deepEqual([waits.count, waits.msSum], [1, 40])
    assert.deepEqual([mail?.queue, mail?.handlers.ended], ['shop-dev-mail', 1])
  })

  test('gives no time to what met no handler', () => {
    const counted = tally()
    counted.note(ended('orders', 'refused', 0))
    const [orders] = counted.take()
    assert.deepEqual([orders?.handlers.ended, orders?.handlers.runs.count], [1, 0])
  })

  test('hands everything over once', () => {
    const counted = tally()
    counted.note(ended('orders', 'completed', 1))
    assert.equal(counted.take().length, 1)
    assert.deepEqual(counted.take(), [])
  })

  test('adds what was put back to what came since', () => {
    const counted = tally()
    counted.note(ended('orders', 'completed', 10))
    const taken = counted.take()
    counted.note(ended('orders', 'completed', 5))
    counted.putBack(taken)
    const [orders, ...others] = counted.take()
    assert.deepEqual([orders?.handlers.ended, orders?.handlers.runs.msSum], [2, 15])
    assert.deepEqual(others, [])
  })
})
