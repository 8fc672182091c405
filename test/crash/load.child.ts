/**
 * Sends, receives and acknowledges until it is killed. What it asked for and what was answered goes
 * line by line into a journal outside of the store, written before it goes on.
 */
import { openSync, writeSync } from 'node:fs'
import type { Backend, Delivery } from '../../src/backends/backend.ts'
import { openSqlite } from '../../src/backends/sqlite/index.ts'
import { childArgument, tellParent } from '../support/child-program.ts'
import { batchSize, emitTarget, type LoadArgument, sourceOf } from './load.ts'

const { file, journal, run } = childArgument<LoadArgument>()
const journalDescriptor = openSync(journal, 'a')
const queue = sourceOf(run)
const isFifo = queue.endsWith('.fifo')
let count = 0

const backend = await openSqlite({ file })
await Promise.all([
  ...Array.from({ length: 3 }, () => produce(backend)),
  ...Array.from({ length: 2 }, () => consume(backend)),
])

async function produce(to: Backend): Promise<never> {
  for (;;) {
    count += 1
    const name = `${run}.${count}`
    const isLarge = count % 10 === 0
    const messages = Array.from({ length: batchSize }, (_, index) => ({
      body: `${name}.${index}${isLarge ? ` ${'large'.repeat(500)}` : ''}`,
      group: `g${index}`,
      ...(isFifo && { deduplicationId: `${name}.${index}` }),
    }))
    note(`sending ${name}`)
    await to.send({ queue, messages, allOrNothing: true })
    note(`sent ${name}`)
    tellParent({ kind: 'progress' })
  }
}

async function consume(from: Backend): Promise<never> {
  for (;;) {
    const deliveries = await from.receive({ queue, max: 4, waitMs: 1_000 })
    await Promise.all(deliveries.map((delivery) => finish(from, delivery)))
    tellParent({ kind: 'progress' })
  }
}

/** Acknowledges and emits in one settlement; some messages are left to their leases. */
async function finish(on: Backend, { body, receipt, sequence }: Delivery): Promise<void> {
  if (!isFifo && sequence % 5 === 0) return
  const name = body.split(' ')[0]
  note(`acknowledging ${name}`)
  const [result] = await on.settle({
    queue,
    settlements: [
      {
        receipt,
        outcome: { kind: 'acknowledge' },
        emits: [{ queue: emitTarget, message: { body: `${name}` } }],
      },
    ],
  })
  if (result?.status === 'settled') note(`acknowledged ${name}`)
}

function note(line: string): void {
  writeSync(journalDescriptor, `${line}\n`)
}
