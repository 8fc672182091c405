/**
 * A Postgres server for peers that need one: in a separate directory, reachable only through a socket there, and as
 * durable as the embedded store.
 */
import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { chownSync, existsSync, mkdtempSync, readdirSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import type { Skipped } from './peers.ts'

export interface Postgres {
  readonly url: string
  stop(): Promise<void>
}

/** Settings for a fast server that never loses a commit. */
const settings: Readonly<Record<string, string>> = {
  listen_addresses: '',
  fsync: 'on',
  synchronous_commit: 'on',
  shared_buffers: '512MB',
  max_wal_size: '4GB',
  checkpoint_timeout: '15min',
  max_connections: '200',
}

export async function startPostgres(): Promise<Postgres | Skipped> {
  const bin = binaries()
  if (bin === undefined) return { skipped: 'Postgres is not installed' }
  const user = serverUser()
  if (user === undefined) return { skipped: 'Postgres does not run as root' }
  const folder = mkdtempSync(join(tmpdir(), 'millrace-bench-postgres-'))
  if (user.uid !== undefined) chownSync(folder, user.uid, user.gid)
  const data = join(folder, 'data')
  const init = ['-D', data, '-U', 'postgres', '-A', 'trust', '-E', 'UTF8', '--locale=C']
  execFileSync(join(bin, 'initdb'), init, { ...user, cwd: folder, stdio: 'pipe' })
  const options = { ...settings, unix_socket_directories: folder }
  const args = Object.entries(options).flatMap(([name, value]) => ['-c', `${name}=${value}`])
  // When this process ends, the shell's input ends. The shell then stops the server and cleans up.
  const script = '"$@" <&- & cat >/dev/null; kill -INT $!; wait; rm -rf "$0"'
  const command = [join(bin, 'postgres'), '-D', data, ...args]
  const server = spawn('sh', ['-c', script, folder, ...command], {
    ...user,
    cwd: '/',
    stdio: ['pipe', 'ignore', 'pipe'],
  })
  const exit = once(server, 'exit')
  const log: string[] = []
  const lines = createInterface({ input: server.stderr })
  await new Promise<void>((resolve, reject) => {
    lines.on('line', (line) => {
      log.push(line)
      if (line.includes('ready to accept connections')) resolve()
      // The shell keeps waiting for its input, so only the log shows that the server failed.
      if (line.includes('FATAL')) reject(new Error(`Postgres did not start:\n${log.join('\n')}`))
    })
    lines.once('close', () => reject(new Error(`Postgres has ended:\n${log.join('\n')}`)))
  })
  return {
    url: `postgres:///postgres?host=${encodeURIComponent(folder)}&user=postgres`,
    stop: async () => {
      server.stdin.end()
      await exit
    },
  }
}

/** The newest version of Debian's packages, or the one on the path. */
function binaries(): string | undefined {
  const debian = '/usr/lib/postgresql'
  const versions = existsSync(debian) ? readdirSync(debian) : []
  const folders = versions
    .toSorted((a, b) => Number(b) - Number(a))
    .map((version) => join(debian, version, 'bin'))
  const path = (process.env['PATH'] ?? '').split(':')
  return [...folders, ...path].find(
    (folder) => existsSync(join(folder, 'initdb')) && existsSync(join(folder, 'postgres')),
  )
}

/** Postgres refuses to run as root, so root starts it as the user of its package. */
function serverUser(): { readonly uid: number; readonly gid: number } | Own | undefined {
  if (process.getuid?.() !== 0) return own
  try {
    const id = (flag: string): number =>
      Number(execFileSync('id', [flag, 'postgres'], { stdio: 'pipe', encoding: 'utf8' }))
    return { uid: id('-u'), gid: id('-g') }
  } catch {
    return undefined
  }
}

interface Own {
  readonly uid?: never
  readonly gid?: never
}
const own: Own = {}
