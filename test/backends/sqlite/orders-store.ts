/** A store in a file, with a queue `orders`; whoever borrows its connection must leave it sound. */
import { onTestFinished } from 'vitest'
import type { Backend } from '../../../src/backends/backend.ts'
import { openSqlite } from '../../../src/backends/sqlite/index.ts'
import { virtualPorts } from '../../../src/testing/virtual-clock.ts'
import { assertSoundStore } from '../../support/store-inspection.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'

export interface OrdersStore {
  readonly backend: Backend
  readonly file: string
}

export async function openOrders(): Promise<OrdersStore> {
  const folder = await temporaryFolder('orders')
  const file = folder.file('store.db')
  const backend = await openSqlite({ file, ports: virtualPorts() })
  onTestFinished(async () => {
    await backend.close()
    assertSoundStore(file)
    await folder.remove()
  })
  await backend.createQueue({ queue: 'orders' })
  return { backend, file }
}
