/**
 * Opens flows and works on their units until it is killed. What was answered goes line by line into a
 * journal outside of the store, written before it goes on.
 */
import { openSync, writeSync } from 'node:fs'
import type { Backend, Delivery, Outcome } from '../../src/backends/backend.ts'
import type { FlowStore, NewUnit } from '../../src/backends/flow-store.ts'
import { openSqlite } from '../../src/backends/sqlite/index.ts'
import { childArgument, tellParent } from '../support/child-program.ts'
import {
  endsQueue,
  type FanInArgument,
  firstUnits,
  flowName,
  laterUnits,
  workQueue,
} from './fan-in.ts'

const { file, journal, run } = childArgument<FanInArgument>()
const journalDescriptor = openSync(journal, 'a')
let count = 0

const backend = await openSqlite({ file })
const { flows } = backend
if (flows === null) throw new Error('This store keeps no flows.')
await Promise.all([
  ...Array.from({ length: 2 }, () => fanOut(flows)),
  ...Array.from({ length: 3 }, () => work(backend)),
])

async function fanOut(on: FlowStore): Promise<never> {
  for (;;) {
    count += 1
    const id = `${run}.${count}`
    const opening = {
      flow: flowName,
      id,
      units: unitsOf(id, firstUnits),
      sealed: false,
      onUnitFailure: 'wait',
      finalize: { queue: endsQueue, message: { body: id } },
      keepMs: 86_400_000,
    } as const
    // Whoever does not hear of the first time asks a second time.
    await Promise.all([on.open(opening), on.open(opening)])
    note(`opened ${id}`)
    await on.add({ flow: flowName, id, units: unitsOf(id, laterUnits) })
    await on.seal({ flow: flowName, id })
    note(`sealed ${id}`)
    tellParent({ kind: 'progress' })
  }
}

function unitsOf(id: string, units: readonly string[]): readonly NewUnit[] {
  return units.map((unit) => ({
    id: unit,
    work: { queue: workQueue, message: { body: `${id}/${unit}` } },
  }))
}

async function work(on: Backend): Promise<never> {
  for (;;) {
    const deliveries = await on.receive({ queue: workQueue, max: 4, waitMs: 1_000 })
    await Promise.all(deliveries.map((delivery) => finish(on, delivery)))
    tellParent({ kind: 'progress' })
  }
}

/** Some messages are left to their leases, some are tried again, and some are given up. */
async function finish(on: Backend, { body, receipt, sequence }: Delivery): Promise<void> {
  if (sequence % 7 === 0) return
  const outcome = outcomeFor(sequence)
  const [result] = await on.settle({ queue: workQueue, settlements: [{ receipt, outcome }] })
  if (result?.status === 'settled' && outcome.kind === 'acknowledge') note(`acknowledged ${body}`)
}

function outcomeFor(sequence: number): Outcome {
  if (sequence % 11 === 0) return { kind: 'deadLetter', reason: 'unreadable' }
  return sequence % 5 === 0 ? { kind: 'retry', delayMs: 0 } : { kind: 'acknowledge' }
}

function note(line: string): void {
  writeSync(journalDescriptor, `${line}\n`)
}
