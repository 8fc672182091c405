/** Creates and drops databases on a server that is known by the URL of one of its databases. */
import { escapeIdentifier } from 'pg'
import { query } from './query.ts'

export interface Database {
  /** The URL of any other database of the server. */
  readonly server: string
  readonly name: string
}

export interface DatabaseOptions {
  /** A database to copy, with its tables and rows. It must not have connections. Default: an empty one. */
  readonly template?: string
}

/** Returns the URL of the new database. */
export async function createDatabase({
  server,
  name,
  template = 'template1',
}: Database & DatabaseOptions): Promise<string> {
  const [created, copied] = [escapeIdentifier(name), escapeIdentifier(template)]
  await query(server, `CREATE DATABASE ${created} TEMPLATE ${copied}`)
  return databaseUrl({ server, name })
}

/** Also ends the connections to it. */
export async function dropDatabase({ server, name }: Database): Promise<void> {
  await query(server, `DROP DATABASE IF EXISTS ${escapeIdentifier(name)} WITH (FORCE)`)
}

export function databaseUrl({ server, name }: Database): string {
  const url = new URL(server)
  url.pathname = `/${name}`
  return url.href
}
