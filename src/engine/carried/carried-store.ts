/** What the store does for queues on carriers, as operations of a database. */

import type { SettleResult } from '../../backends/backend.ts'
import type { CarriedStore, SettleArrived } from '../../backends/carried-store.ts'
import type { Database } from '../database.ts'
import { refusedAlone } from '../messages/settling-alone.ts'
import { boundStore, changes, type Operations, reads } from '../operations.ts'
import { arriveMessages, readAdmission, settleArrived } from './arriving.ts'
import { keepMessages, noteFigures } from './carried-figures.ts'
import { confirmSent, takeOutgoing, untake } from './outbox.ts'

const operations: Operations<Omit<CarriedStore, 'settle'>> = {
  take: changes(takeOutgoing),
  sent: changes(confirmSent),
  untake: changes(untake),
  note: changes(noteFigures),
  keep: changes(keepMessages),
  admission: reads(readAdmission),
  arrive: changes(arriveMessages),
}

export function carriedStore(database: Database): CarriedStore {
  return {
    ...boundStore(database, operations),
    settle: (request) => settleEach(database, request),
  }
}

async function settleEach(
  database: Database,
  { queue, settlements }: SettleArrived,
): Promise<readonly SettleResult[]> {
  const results = settlements.map((settlement) =>
    database
      .settle(function* (tx) {
        return [yield* settleArrived(tx, queue, settlement)]
      })
      .catch(refusedAlone),
  )
  return (await Promise.all(results)).flat()
}
