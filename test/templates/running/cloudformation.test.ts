/** Plain CloudFormation: a FIFO queue, an event source mapping, and a handler with a callback. */
import assert from 'node:assert/strict'
import { describe, test } from 'vitest'
import { runHere, untilVersion, variableOf } from './running-project.ts'

const parameters = { RetrySeconds: '3' }

describe('a CloudFormation template with an event source mapping', () => {
  test('runs a CommonJS handler with a callback, in the order of each group', async () => {
    const { dev, queue, send, take } = await runHere('cloudformation', 'stack.yaml', { parameters })
    const payments = variableOf(dev, 'BookFunction', 'PAYMENTS_URL')
    const bookings = variableOf(dev, 'BookFunction', 'BOOKINGS_URL')
    await send(
      payments,
      { group: 'ann', body: { cents: 100 } },
      { group: 'ann', body: { cents: -1 } },
      { group: 'ann', body: { cents: 200 } },
    )
    const booked = { version: 'v1', account: 'ann' }
    assert.deepEqual((await take(bookings)).body, { ...booked, cents: 100 })
    // The failed one holds up its group until it is a dead letter, and nobody else.
    await send(payments, { group: 'bob', body: { cents: 300 } })
    assert.deepEqual((await take(bookings)).body, { version: 'v1', account: 'bob', cents: 300 })
    assert.deepEqual((await take(bookings)).body, { ...booked, cents: 200 })
    const dead = await take(await queue('payments-dev-dead.fifo'))
    assert.deepEqual(dead.body, { cents: -1 })
  })

  test('takes over a handler that was changed', async () => {
    const { dev, send, take, edit } = await runHere('cloudformation', 'stack.yaml', { parameters })
    const payments = variableOf(dev, 'BookFunction', 'PAYMENTS_URL')
    const bookings = variableOf(dev, 'BookFunction', 'BOOKINGS_URL')
    const next = async (cents: number): ReturnType<typeof take> => {
      await send(payments, { group: 'ann', body: { cents } })
      return take(bookings)
    }
    assert.equal((await next(0)).body['version'], 'v1')
    await edit('functions/book.js', (text) => text.replace("'v1'", "'v2'"))
    await untilVersion('v2', (turn) => next(turn + 1))
  })
})
