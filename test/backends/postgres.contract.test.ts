import { describe, test } from 'vitest'
import { type OpenedPostgres, openPostgres } from '../../src/backends/postgres/index.ts'
import {
  type ContractHarness,
  describeBackendContract,
} from '../../src/testing/backend-contract/backend-contract.ts'
import { settleTurns, virtualPorts } from '../../src/testing/virtual-clock.ts'
import { freshDatabase } from '../services/fresh-database.ts'

const database = freshDatabase()
let stores = 0

describeBackendContract({ name: 'Postgres', describe, test, open: openHarness })

async function openHarness(): Promise<ContractHarness> {
  const { url } = await database
  stores += 1
  const ports = virtualPorts(stores)
  const schema = `store_${stores}`
  const open = () => openPostgres({ url, ports, schema, usesPortsTime: true, connections: 4 })
  let opened = await open()
  const others: OpenedPostgres[] = []
  const settle = async (): Promise<void> => {
    for (let rounds = 0; rounds < 4; rounds += 1) {
      await settleTurns()
      await Promise.all([opened, ...others].map(({ whenIdle }) => whenIdle()))
    }
  }
  return {
    backend: opened.backend,
    advance: (ms) => ports.clock.advance(ms, settle),
    jumpWall: (ms) => ports.clock.jumpWall(ms),
    openAnother: async () => {
      const other = await open()
      others.push(other)
      return other.backend
    },
    async reopen() {
      await opened.backend.close()
      opened = await open()
      return opened.backend
    },
    async dispose() {
      await opened.backend.close()
    },
  }
}
