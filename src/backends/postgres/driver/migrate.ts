/** Creates the schema of a store, or brings an older one up to date, under a lock of the database. */
import { MillraceError } from '../../../core/millrace-error.ts'
import { migrations } from '../migrations/index.ts'
import type { Connection } from './connections.ts'
import { quotedName } from './quoted-name.ts'

/** Names the lock among all advisory locks of the database. */
const migrationLock = 0x4d694c72

export interface SchemaToMigrate {
  /** Its name, not quoted. */
  readonly schema: string
  /** Creates the schema if it does not exist. Otherwise it is refused. */
  readonly create: boolean
}

export async function migrate(
  connection: Connection,
  { schema, create }: SchemaToMigrate,
): Promise<void> {
  await connection.query('BEGIN')
  try {
    await connection.query('SELECT pg_advisory_xact_lock($1)', [migrationLock])
    if (!create) await requireSchema(connection, schema)
    await connection.query(`CREATE SCHEMA IF NOT EXISTS ${quotedName(schema)}`)
    await connection.query(`SET LOCAL search_path TO ${quotedName(schema)}`)
    await connection.query(
      'CREATE TABLE IF NOT EXISTS schema_version (version INTEGER PRIMARY KEY)',
    )
    const found = await connection.query<{ version: number | null }>(
      'SELECT max(version) AS version FROM schema_version',
    )
    const version = found.rows[0]?.version ?? 0
    if (version > migrations.length) {
      throw new MillraceError('store_too_new', {
        message: `The schema ${quotedName(schema)} has version ${version}; this program knows up to ${migrations.length}. Upgrade Millrace to open it.`,
      })
    }
    for (const [index, migration] of migrations.entries()) {
      if (index < version) continue
      await connection.query(migration)
      await connection.query('INSERT INTO schema_version VALUES ($1)', [index + 1])
    }
    await connection.query('COMMIT')
  } catch (error) {
    await connection.query('ROLLBACK').catch(() => connection.markBroken())
    throw error
  }
}

async function requireSchema(connection: Connection, schema: string): Promise<void> {
  const text = 'SELECT 1 FROM pg_namespace WHERE nspname = $1'
  const { rows } = await connection.query(text, [schema])
  if (rows.length > 0) return
  const message = `The database has no schema ${quotedName(schema)}, so there is no store.`
  throw new MillraceError('store_unusable', { message })
}

/** The tables, views and sequences that statements name. */
export function namesOfSchema(): ReadonlySet<string> {
  const created = /CREATE (?:TABLE|VIEW|SEQUENCE) (\w+)/g
  return new Set(
    migrations.flatMap((migration) =>
      [...migration.matchAll(created)].flatMap(([, name]) => name ?? []),
    ),
  )
}
