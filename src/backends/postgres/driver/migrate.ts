/**
 * Creates the schema of a store, or brings an older one up to date, under a lock of the database. A store that
 * is up to date is only read, so that a role without the right to create tables can open it.
 */
import { MillraceError } from '../../../core/millrace-error.ts'
import type { Timers } from '../../../core/ports.ts'
import { migrations } from '../migrations/index.ts'
import type { Connection } from './connections.ts'
import { quotedName } from './quoted-name.ts'
import {
  foreignSchema,
  readFacts,
  readVersion,
  requireRights,
  type SchemaFacts,
  unusable,
} from './schema-facts.ts'

/** Names the lock among all advisory locks of the database. */
const migrationLock = 0x4d694c72

/** A change that waits for a table makes all others wait behind it. So it gives way, and tries again. */
const lockTimeout = '2s'
const triesMax = 30
const pauseMs = 1_000

export interface SchemaToMigrate {
  /** Its name, not quoted. */
  readonly schema: string
  /** Creates the store if it does not exist. Otherwise it is refused. */
  readonly create: boolean
  readonly timers: Timers
}

export async function migrate(connection: Connection, wanted: SchemaToMigrate): Promise<void> {
  const { schema, create, timers } = wanted
  const facts = await readFacts(connection, schema)
  if (!facts.is_store && !create) {
    const place = `the schema ${quotedName(schema)} of the database ${quotedName(facts.database)}`
    throw new MillraceError('store_not_found', { message: `There is no store in ${place}.` })
  }
  const version = await readVersion(connection, { schema, facts })
  for (let tries = 1; version < migrations.length; tries += 1) {
    try {
      await upgrade(connection, schema)
      return
    } catch (error) {
      const code = codeOf(error)
      if (code === '42501') throw notAllowed({ schema, facts, version })
      // Types have their own code. A table is also a type.
      if (code === '42P07' || code === '42710') throw nameTaken({ schema, facts, version }, error)
      if (code !== '55P03') throw error
      if (tries === triesMax) throw tablesInUse(schema, error)
      await new Promise<void>((resolve) => timers.after(pauseMs, resolve))
    }
  }
  await requireRights(connection, { schema, facts, names: namesOfSchema() })
}

async function upgrade(connection: Connection, schema: string): Promise<void> {
  await connection.query('BEGIN')
  try {
    // Timeouts of the role are for its own statements.
    await connection.query('SET LOCAL statement_timeout = 0')
    await connection.query('SET LOCAL lock_timeout = 0')
    await connection.query('SELECT pg_advisory_xact_lock($1)', [migrationLock])
    // Another process may have done it meanwhile.
    const facts = await readFacts(connection, schema)
    const version = await readVersion(connection, { schema, facts })
    if (!facts.exists) await connection.query(`CREATE SCHEMA ${quotedName(schema)}`)
    await connection.query(`SET LOCAL search_path TO ${quotedName(schema)}`)
    await connection.query(`SET LOCAL lock_timeout = '${lockTimeout}'`)
    if (!facts.is_store) {
      await connection.query('CREATE TABLE schema_version (version INTEGER PRIMARY KEY)')
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

function codeOf(error: unknown): string | undefined {
  return (error as { readonly code?: string }).code
}

interface Refused {
  readonly schema: string
  readonly facts: SchemaFacts
  readonly version: number
}

function notAllowed({ schema, facts, version }: Refused): MillraceError {
  const [role, name, database] = [facts.role, schema, facts.database].map(quotedName)
  if (!facts.exists) {
    return unusable(
      `The role ${role} may not create the schema ${name}. Run as the owner of the database: GRANT CREATE ON DATABASE ${database} TO ${role}`,
    )
  }
  const change =
    version === 0
      ? `create tables in the schema ${name}`
      : `change the schema ${name} from version ${version} to ${migrations.length}`
  return unusable(
    `The role ${role} may not ${change}. Open the store once with the role that owns the schema.`,
  )
}

function nameTaken({ schema, facts, version }: Refused, cause: unknown): MillraceError {
  if (version === 0) return foreignSchema(schema, facts)
  const place = `The schema ${quotedName(schema)} of the database ${quotedName(facts.database)}`
  const { message } = cause as Error
  return new MillraceError('store_foreign', {
    message: `${place} has a table or type of another program with the name of one of Millrace's: ${message}. Rename it, and try again.`,
    cause,
  })
}

function tablesInUse(schema: string, cause: unknown): MillraceError {
  return new MillraceError('store_busy', {
    message: `The tables of the schema ${quotedName(schema)} were in use, so they could not be changed. Look for long transactions in pg_stat_activity, and try again.`,
    cause,
  })
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
