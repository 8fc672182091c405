/** What is in the schema of a store, and what the role may do there. Reads only catalogs, which every role may. */
import { MillraceError } from '../../../core/millrace-error.ts'
import { migrations } from '../migrations/index.ts'
import type { Connection } from './connections.ts'
import { quotedName } from './quoted-name.ts'

/** As reported by `server_version_num`. */
const oldestServer = 140_000

export interface SchemaFacts {
  /** The version of the server, for people and for comparisons. */
  readonly server: string
  readonly server_number: number
  readonly is_replica: number
  readonly is_read_only: number
  readonly role: string
  readonly database: string
  readonly may_create_schemas: number
  readonly exists: number
  readonly may_use: number
  /** Tables, views and sequences of any program. */
  readonly relations: number
  readonly is_store: number
}

const facts = `
  SELECT current_setting('server_version') AS server,
    CAST(current_setting('server_version_num') AS INTEGER) AS server_number,
    pg_is_in_recovery() AS is_replica,
    current_setting('transaction_read_only') = 'on' AS is_read_only,
    CAST(current_user AS TEXT) AS role, CAST(current_database() AS TEXT) AS database,
    has_database_privilege(current_database(), 'CREATE') AS may_create_schemas,
    found.oid IS NOT NULL AS exists,
    coalesce(has_schema_privilege(found.oid, 'USAGE'), FALSE) AS may_use,
    (SELECT count(*) FROM pg_class
      WHERE relnamespace = found.oid AND relkind IN ('r', 'p', 'v', 'm', 'f', 'S')) AS relations,
    (SELECT count(*) = 2 FROM pg_class JOIN pg_attribute ON attrelid = pg_class.oid
      WHERE relnamespace = found.oid AND NOT attisdropped
        AND (relname, attname) IN (('schema_version', 'version'), ('store', 'receipt_key'))) AS is_store
  FROM (SELECT 1) AS one LEFT JOIN pg_namespace AS found ON found.nspname = $1`

const missingRights = `
  SELECT relname AS name FROM pg_class
  WHERE relnamespace = (SELECT oid FROM pg_namespace WHERE nspname = $1) AND relname = ANY($2)
    AND NOT CASE relkind
      WHEN 'S' THEN has_sequence_privilege(oid, 'USAGE') AND has_sequence_privilege(oid, 'SELECT')
      WHEN 'v' THEN has_table_privilege(oid, 'SELECT')
      ELSE has_table_privilege(oid, 'SELECT') AND has_table_privilege(oid, 'INSERT')
        AND has_table_privilege(oid, 'UPDATE') AND has_table_privilege(oid, 'DELETE') END
  ORDER BY relname`

const grants = 'docs/postgres.md lists the rights that a role needs.'

/** Throws if the server or the schema cannot hold a store. */
export async function readFacts(connection: Connection, schema: string): Promise<SchemaFacts> {
  const { rows } = await connection.query<SchemaFacts>(facts, [schema])
  const [found] = rows
  if (found === undefined) throw new MillraceError('store_failed')
  const { server, role } = found
  const name = quotedName(schema)
  if (found.server_number < oldestServer) {
    throw unusable(`This is Postgres ${server}. Millrace needs Postgres 14 or newer.`)
  }
  if (found.is_replica) {
    throw unusable('The server is a read-only replica. Use the URL of the primary server.')
  }
  if (found.is_read_only) {
    throw unusable(
      `The role ${quotedName(role)} may only read: default_transaction_read_only is on for it, or for the database. Turn it off for this role.`,
    )
  }
  if (found.relations > 0 && !found.is_store) throw foreignSchema(schema, found)
  if (found.exists && !found.may_use) {
    throw unusable(`The role ${quotedName(role)} may not use the schema ${name}. ${grants}`)
  }
  return found
}

export function foreignSchema(
  schema: string,
  { database }: Pick<SchemaFacts, 'database'>,
): MillraceError {
  const place = `The schema ${quotedName(schema)} of the database ${quotedName(database)}`
  const message = `${place} has tables of another program. Choose another schema.`
  return new MillraceError('store_foreign', { message })
}

/** The number of migrations that the store has. Throws if this program does not know all of them. */
export async function readVersion(
  connection: Connection,
  { schema, facts: { is_store, role } }: { readonly schema: string; readonly facts: SchemaFacts },
): Promise<number> {
  if (!is_store) return 0
  const name = quotedName(schema)
  const text = `SELECT max(version) AS version FROM ${name}.schema_version`
  const { rows } = await connection.query<{ version: number | null }>(text).catch((cause) => {
    if ((cause as { code?: string }).code !== '42501') throw cause
    const table = `${name}.schema_version`
    throw unusable(`The role ${quotedName(role)} may not read ${table}. ${grants}`)
  })
  const version = rows[0]?.version ?? 0
  if (version <= migrations.length) return version
  throw new MillraceError('store_too_new', {
    message: `The schema ${name} has version ${version}; this program knows up to ${migrations.length}. Upgrade Millrace to open it.`,
  })
}

/** Throws if the role may not read and write all tables of the store. */
export async function requireRights(
  connection: Connection,
  {
    schema,
    facts: { role },
    names,
  }: {
    readonly schema: string
    readonly facts: SchemaFacts
    readonly names: ReadonlySet<string>
  },
): Promise<void> {
  const values = [schema, [...names]]
  const { rows } = await connection.query<{ name: string }>(missingRights, values)
  const [first] = rows
  if (first === undefined) return
  const others = rows.length === 1 ? '' : ` and ${rows.length - 1} more`
  const tables = `${quotedName(schema)}.${first.name}${others}`
  throw unusable(`The role ${quotedName(role)} may not read and write ${tables}. ${grants}`)
}

export function unusable(message: string): MillraceError {
  return new MillraceError('store_unusable', { message })
}
