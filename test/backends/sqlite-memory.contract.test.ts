import { describe, test } from 'vitest'
import { memoryFile, openRecordingSqlite } from '../../src/backends/sqlite/index.ts'
import {
  type ContractHarness,
  describeBackendContract,
} from '../../src/testing/backend-contract/backend-contract.ts'
import { virtualPorts } from '../../src/testing/virtual-clock.ts'

describeBackendContract({
  // Answers come late, so that a rule that does not wait for one fails.
  name: 'SQLite in memory',
  describe,
  test,
  open: openHarness,
})

async function openHarness(): Promise<ContractHarness> {
  const ports = virtualPorts()
  const { backend } = await openRecordingSqlite({
    file: memoryFile,
    ports,
    answersLate: true,
  })
  return {
    backend,
    advance: (ms) => ports.clock.advance(ms),
    jumpWall: (ms) => ports.clock.jumpWall(ms),
    dispose: () => backend.close(),
  }
}
