/** An inbox: a queue whose messages people claim, then resolve or return. */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { defineApp, open, queue } from 'millrace'
import { z } from 'zod'

const Refund = z.object({ customer: z.string(), euros: z.number() })

const app = defineApp('first-inbox', {
  queues: {
    // A claim lasts an hour. Messages that are not resolved are kept for a week.
    approvals: queue({ schema: Refund, visibilityTimeout: '1h', retention: '7d' }),
    payments: queue({ schema: Refund }),
  },
})

// A temporary folder, so that each run starts empty. Without `data` the store is in `.millrace/`.
const data = await mkdtemp(join(tmpdir(), 'millrace-first-'))
const mill = await open(app, { data })

await mill.queues.approvals.send({ customer: 'Ada', euros: 20 })
await mill.queues.approvals.send({ customer: 'Ben', euros: 900 })

const inbox = mill.inbox('approvals')
console.log(`Waiting: ${(await inbox.counts()).waiting}`)

// Without an id, a claim takes the oldest message.
const claimed = await inbox.claim({ by: 'anna' })
if (claimed.status !== 'claimed') throw new Error('The inbox is empty.')
const { id, message } = claimed.item
if (message === undefined) throw new Error('The message does not fit its schema.')
console.log(`anna claims the refund for ${message.customer}.`)

const taken = await inbox.claim({ id, by: 'otto' })
if (taken.status === 'taken') console.log(`otto cannot claim it: ${taken.holder} has it.`)

// `resolve` ends the message and sends the emitted messages, in one commit.
const payment = mill.queues.payments.prepare(message)
await inbox.resolve(id, { by: 'anna', note: 'approved', emits: [payment] })
const [paid] = await mill.queues.payments.receive()
console.log(`Pay ${paid?.message.euros} euros to ${paid?.message.customer}.`)
await paid?.acknowledge()

// A message can be returned to the inbox, with a note.
const second = await inbox.claim({ by: 'anna' })
if (second.status === 'claimed') {
  await inbox.release(second.item.id, { by: 'anna', note: 'too much for me' })
  for (const { by, event, note } of await inbox.history(second.item.id)) {
    console.log(`${by} ${event} it${note === null ? '' : `: ${note}`}`)
  }
}
console.log(`Waiting: ${(await inbox.counts()).waiting}`)

await mill.close()
await rm(data, { recursive: true })
