import pg from 'pg'
import { afterAll, describe, test } from 'vitest'
import { type OpenedPostgres, openPostgres } from '../../src/backends/postgres/index.ts'
import {
  type ContractHarness,
  describeBackendContract,
} from '../../src/testing/backend-contract/backend-contract.ts'
import { settleTurns, virtualPorts } from '../../src/testing/virtual-clock.ts'
import { freshDatabase } from '../services/fresh-database.ts'

/** Tests share connections and tables, because new ones would take most of the time. */
const pool = freshDatabase().then(({ url: connectionString }) => {
  return new pg.Pool({ connectionString, max: 20, pipeline: true })
})
afterAll(async () => (await pool).end())

/** As a new store is. */
const emptied = `
  DO $$ DECLARE name text; BEGIN
    SET LOCAL session_replication_role = replica;
    FOR name IN SELECT tablename FROM pg_tables WHERE schemaname = 'millrace'
      AND tablename NOT IN ('schema_version', 'store', 'metric_clock')
    LOOP
      EXECUTE format('DELETE FROM millrace.%I', name);
    END LOOP;
    UPDATE millrace.store SET queues_version = 1, clock_ms = 0, wall_ms = 0, uptime_ms = 0, boot = NULL;
    DELETE FROM millrace.metric_clock;
    INSERT INTO millrace.metric_clock VALUES (1, 0, NULL);
  END $$`

let stores = 0

describeBackendContract({ name: 'Postgres', describe, test, open: openHarness })

async function openHarness(): Promise<ContractHarness> {
  const shared = await pool
  if (stores > 0) await shared.query(emptied)
  stores += 1
  const ports = virtualPorts(stores)
  const open = () => openPostgres({ pool: shared, ports, usesPortsTime: true })
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
      for (const { backend } of [opened, ...others]) await backend.close()
    },
  }
}
