/** Postgres has its own tools for backups. Millrace refuses, and names the command that does it. */
import { MillraceError } from '../../core/millrace-error.ts'
import type { AnyPool } from './any-pool.ts'
import { placeIn } from './place.ts'

export interface DumpedStore {
  readonly database: string | AnyPool
  readonly schema: string
}

export function backupRefused(store: DumpedStore, file: string): MillraceError {
  const { schema, database } = store
  // Other names than these are patterns, unless they are quoted.
  const pattern = /^[a-z_][a-z0-9_]*$/.test(schema) ? schema : `"${schema}"`
  const options = ['--format=custom', `--schema=${pattern}`, `--file=${file}`]
  const command = commandLine(['pg_dump', ...connectionOf(database), ...options])
  return unsupported(`Millrace does not copy a store on Postgres. Run: ${command}`)
}

export function restoreRefused(database: string | AnyPool, file: string): MillraceError {
  const command = commandLine(['pg_restore', ...connectionOf(database), file])
  return unsupported(`Millrace does not restore a store on Postgres. Run: ${command}`)
}

function unsupported(message: string): MillraceError {
  return new MillraceError('unsupported', { message })
}

/** Without the password: the tools ask for it, or read PGPASSWORD. */
function connectionOf(database: string | AnyPool): readonly string[] {
  const { host, port, user, name } = placeIn(database)
  const options = { host, port, username: user, dbname: name }
  return Object.entries(options).flatMap(([option, value]) =>
    value ? [`--${option}=${value}`] : [],
  )
}

function commandLine(words: readonly string[]): string {
  return words.map((word) => (/^[\w./:=@-]+$/.test(word) ? word : quoted(word))).join(' ')
}

function quoted(word: string): string {
  return `'${word.replaceAll("'", String.raw`'\''`)}'`
}
