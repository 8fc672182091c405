import { describe, test } from 'vitest'
import { carriedBackend } from '../../src/backends/carriers/carried-backend.ts'
import { checkedBackend } from '../../src/backends/checked-backend.ts'
import { memoryFile, openSqlite } from '../../src/backends/sqlite/index.ts'
import {
  type ContractHarness,
  describeBackendContract,
} from '../../src/testing/backend-contract/backend-contract.ts'
import { settleTurns, virtualPorts } from '../../src/testing/virtual-clock.ts'
import { storeCarrier } from './store-carrier.ts'

/**
 * What does not hold on carriers yet. Vitest fails when one of these tests passes, so the list can only become
 * shorter.
 */
const notYet: ReadonlySet<string> = new Set([
  'a batch is ended by its own trigger only',
  'a ceiling that is set counts what runs already',
  'a dead letter of a FIFO queue is claimed by the id it kept',
  'a delayed message can be looked at, but not claimed',
  'a duplicate emit is answered as such and settles',
  'a job outlives the retention of its queue',
  'a message stored before its queue had the key is not limited by it',
  'a message that a receiver has is held without a name',
  'a message that lost its unit in the receive that gives it out has none',
  'a purge of many messages leaves it pending that the first of them gave another one',
  'a queue of plain messages without dead letters cannot be diverted',
  'a queue that is deleted and created again is another one',
  'a receiver takes from the same queue, and has no name',
  'a retry of a trigger whose items another one has merged is not waited for',
  'a trigger that goes with a dead one is not received after it',
  'also out of the delay of the queue',
  'another key takes the place of the first',
  'any person may add a note, with or without a claim',
  'are not those that wait for room under a ceiling',
  'hold goes before divert',
  'inboxes are the queues in which people have done something',
  'it ends when the store is closed',
  'its jobs can be promoted, in their order',
  'messages that die on the way do not make a receive smaller',
  'more than a slice of it is forgotten by the sweeps that follow',
  'names nothing in another queue, and no forged one names anything',
  'of claims without end the latest 1,000 entries are kept, and all notes',
  'on FIFO queues the time starts anew and the message id deduplicates',
  'records that a purge took a claimed message',
  'records that the end of its retention took a claimed message',
  'release is for the holder of a live claim alone',
  'renew is for the holder of a live claim alone',
  'resolve is for the holder of a live claim alone',
  'the order of a group is kept',
  'thousands of held messages cost those behind them little',
  'two people who claim the oldest get two different messages',
  'where any lease will do, an old receipt acknowledges once the later lease has ended',
])

describeBackendContract({
  name: 'a carrier',
  describe,
  test: (name, body) => (notYet.has(name) ? test.fails(name, body) : test(name, body)),
  open: openHarness,
})

async function openHarness(): Promise<ContractHarness> {
  const ports = virtualPorts()
  const store = await openSqlite({ file: memoryFile, ports })
  const carrier = storeCarrier(await openSqlite({ file: memoryFile, ports }))
  const backend = carriedBackend({
    store,
    carriers: new Map([['store', carrier]]),
    byDefault: 'store',
    ports,
  })
  const settle = async (): Promise<void> => {
    await settleTurns()
    await backend.whenRelayed()
    await settleTurns()
  }
  return {
    backend: checkedBackend(backend),
    advance: (ms) => ports.clock.advance(ms, settle),
    async dispose() {
      await backend.close()
    },
  }
}
