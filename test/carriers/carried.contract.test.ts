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

describeBackendContract({ name: 'a carrier', describe, test, open: openHarness })

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
