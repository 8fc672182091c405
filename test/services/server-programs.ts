/**
 * Finds the programs of the services and the system user that runs them. Debian keeps these programs outside of
 * the PATH of most users.
 */
import { execFileSync } from 'node:child_process'
import { existsSync, readdirSync } from 'node:fs'
import { delimiter, join } from 'node:path'

/** A service cannot run on this machine. The message contains the command that changes it. */
export class MissingProgramError extends Error {
  override readonly name = 'MissingProgramError'
}

/** The folder with `initdb` and `postgres`: the newest version of Debian's packages, or one on the PATH. */
export function postgresPrograms(): string {
  const debian = '/usr/lib/postgresql'
  const versions = existsSync(debian) ? readdirSync(debian) : []
  const newestFirst = versions.toSorted((a, b) => Number(b) - Number(a))
  const folders = newestFirst.map((version) => join(debian, version, 'bin'))
  return folderWith(['initdb', 'postgres'], [...folders, ...path()], 'postgresql')
}

export function pgbouncerProgram(): string {
  return join(folderWith(['pgbouncer'], [...path(), '/usr/sbin'], 'pgbouncer'), 'pgbouncer')
}

export function redisProgram(): string {
  return join(folderWith(['redis-server'], path(), 'redis-server'), 'redis-server')
}

/** Empty means the user of this process. */
export interface ServerUser {
  readonly uid?: number
  readonly gid?: number
}

/** Postgres and PgBouncer refuse to run as root, so root starts them as the user of Debian's package. */
export function serverUser(): ServerUser {
  if (process.getuid?.() !== 0) return {}
  const id = (flag: string): number =>
    Number(execFileSync('id', [flag, 'postgres'], { stdio: 'pipe', encoding: 'utf8' }))
  try {
    return { uid: id('-u'), gid: id('-g') }
  } catch {
    throw new MissingProgramError(
      'Postgres does not run as root, and there is no user postgres: apt-get install postgresql',
    )
  }
}

function path(): readonly string[] {
  return (process.env['PATH'] ?? '').split(delimiter)
}

function folderWith(
  programs: readonly string[],
  folders: readonly string[],
  debianPackage: string,
): string {
  const found = folders.find((folder) =>
    programs.every((program) => existsSync(join(folder, program))),
  )
  if (found !== undefined) return found
  throw new MissingProgramError(
    `${debianPackage} is not installed: apt-get install ${debianPackage}`,
  )
}
