import { randomBytes } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, test } from 'vitest'
import { openSqlite, type SqliteOptions } from '../../src/backends/sqlite/index.ts'
import { sealingWith } from '../../src/sealing/seal-with.ts'
import {
  type ContractHarness,
  describeBackendContract,
} from '../../src/testing/backend-contract/backend-contract.ts'
import { virtualPorts } from '../../src/testing/virtual-clock.ts'
import { assertSoundStore } from '../support/store-inspection.ts'

type StoreOptions = Pick<SqliteOptions, 'sealing'>

describeBackendContract({ name: 'SQLite', describe, test, open: () => openHarness({}) })

const sealing = sealingWith([{ id: 'contract', key: randomBytes(32) }])
describeBackendContract({
  name: 'SQLite with an encryption key',
  describe,
  test,
  open: () => openHarness({ sealing }),
})

async function openHarness(options: StoreOptions): Promise<ContractHarness> {
  const folder = await mkdtemp(join(tmpdir(), 'millrace-contract-'))
  const ports = virtualPorts()
  const file = join(folder, 'store.db')
  const open = () => openSqlite({ file, ports, ...options })
  let backend = await open()
  return {
    backend,
    advance: (ms) => ports.clock.advance(ms),
    jumpWall: (ms) => ports.clock.jumpWall(ms),
    openAnother: open,
    async reopen() {
      await backend.close()
      backend = await open()
      return backend
    },
    async dispose({ failed }) {
      await backend.close()
      if (!failed) assertSoundStore(file)
      if (!failed) await rm(folder, { recursive: true, force: true })
    },
  }
}
