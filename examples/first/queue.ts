/** A queue: send and receive typed messages, and redrive a dead letter. */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { defineApp, MillraceError, open, queue } from 'millrace'
import { z } from 'zod'

// Declares the queue, its settings and the schema of its messages.
const app = defineApp('first-queue', {
  queues: {
    orders: queue({
      schema: z.object({ order: z.number(), item: z.string() }),
      visibilityTimeout: '1m',
      deadLetter: { after: 3 },
    }),
  },
})

// A temporary folder, so that each run starts empty. Without `data` the store is in `.millrace/`.
const data = await mkdtemp(join(tmpdir(), 'millrace-first-'))
const mill = await open(app, { data })
const { orders } = mill.queues

// When `send` has resolved, the message is on disk.
await orders.send({ order: 1, item: 'flour' })
await orders.send({ order: 2, item: 'a millstone' })
await orders.send({ order: 3, item: 'oats' })

// A message that does not fit the schema is refused, and nothing is stored.
try {
  // @ts-expect-error The types refuse it too.
  await orders.send({ order: '4' })
} catch (error) {
  if (!(error instanceof MillraceError)) throw error
  console.log(`Refused: ${error.message.split('\n')[0]}`)
}

// A received message is invisible to other receivers for a minute. Settle it within that time.
for (const delivery of await orders.receive({ max: 10 })) {
  const { order, item } = delivery.message
  if (item === 'a millstone') {
    await delivery.deadLetter('out of stock')
    console.log(`Order ${order} is a dead letter.`)
  } else {
    await delivery.acknowledge()
    console.log(`Order ${order} is done: ${item}.`)
  }
}

// When the cause is fixed, a redrive moves the dead letters back to their queue.
const { items } = await orders.deadLetters.peek()
console.log(`Reason: ${items[0]?.deadLetterOrigin?.reason}.`)
const redrive = await orders.deadLetters.redrive()
const { moved } = await redrive.finished()
console.log(`Moved back: ${moved}.`)
const [again] = await orders.receive({ wait: '5s' })
await again?.acknowledge()
console.log(`Order ${again?.message.order} is done: ${again?.message.item}.`)

await mill.close()
await rm(data, { recursive: true })
