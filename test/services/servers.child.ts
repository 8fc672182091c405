/** Starts a Postgres server and a PgBouncer and waits to be killed, or dies while it stops one of them. */
import { childArgument, fromParent, tellParent } from '../support/child-program.ts'
import { startPgbouncer } from './pgbouncer.ts'
import { startPostgresServer } from './postgres-server.ts'
import type { ServersReport } from './servers.ts'

childArgument()
const postgres = await startPostgresServer()
const pgbouncer = await startPgbouncer({ serverPort: postgres.port })
tellParent<ServersReport>({
  kind: 'started',
  postgresUrl: postgres.url('postgres'),
  pgbouncerUrl: pgbouncer.url('postgres'),
})
await fromParent('stop')
void postgres.stop('fast')
process.kill(process.pid, 'SIGKILL')
