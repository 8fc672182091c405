/** A database server whose disk is full. These tests mount small disks, so they need root. */
import assert from 'node:assert/strict'
import { chmodSync, chownSync, mkdirSync, rmSync } from 'node:fs'
import { describe, test, vi } from 'vitest'
import type { Backend } from '../../src/backends/backend.ts'
import { openPostgres } from '../../src/backends/postgres/index.ts'
import { MillraceError } from '../../src/core/millrace-error.ts'
import { type PostgresServer, startPostgresServer } from '../services/postgres-server.ts'
import { query } from '../services/query.ts'
import { serverUser } from '../services/server-programs.ts'
import { bodiesOf } from '../support/bodies-of.ts'
import { assertSoundPostgres } from '../support/postgres-inspection.ts'
import { fillWithBallast, onSmallDisk } from '../support/small-disk.ts'

const queue = 'q'
const padding = 'x'.repeat(4_000)

describe('a full disk of the database server', () => {
  test('under its tables refuses sends, loses nothing, and is over when there is room again', () =>
    onSmallDisk(async (disk, folder) => {
      letServerIn(folder)
      await using server = await startPostgresServer()
      const url = await databaseOn(server, disk)
      const { backend } = await openPostgres({ url })
      await backend.createQueue({ queue })
      const kept = await sendAll(backend, 20)
      const ballast = fillWithBallast(disk)
      kept.push(...(await sendUntil(backend, 'store_full')))
      const settled = await settleSome(backend)
      rmSync(ballast)
      kept.push(...(await sendAll(backend, 20)))
      assert.deepEqual(
        (await bodiesOf(backend, queue)).toSorted(),
        kept.filter((body) => !settled.has(body)).toSorted(),
      )
      await backend.close()
      await assertSoundPostgres({ url, schema: 'millrace' })
    }, '40m'))

  test('under its log stops the server, and costs nothing that was acknowledged', () =>
    onSmallDisk(async (disk, folder) => {
      letServerIn(folder)
      giveToServer(disk)
      vi.stubEnv('TMPDIR', disk)
      await using server = await startPostgresServer({
        durable: true,
        settings: { min_wal_size: '32MB', max_wal_size: '32MB', wal_recycle: 'off' },
      }).finally(() => vi.unstubAllEnvs())
      const url = await server.createDatabase('full')
      const { backend } = await openPostgres({ url })
      await backend.createQueue({ queue })
      const kept = await sendAll(backend, 20)
      const ballast = fillWithBallast(disk)
      const isDown = useUpLog(url)
      kept.push(...(await sendUntil(backend, 'store_unreachable')))
      await isDown
      rmSync(ballast)
      // It may have given up, or be in the middle of its recovery.
      await server.stop('immediate')
      await server.start()
      kept.push(...(await sendAll(backend, 20)))
      const bodies = await bodiesOf(backend, queue)
      const lost = kept.filter((body) => !bodies.includes(body))
      assert.deepEqual(lost, [])
      assert.equal(new Set(bodies).size, bodies.length, 'a message was stored twice')
      await backend.close()
      await assertSoundPostgres({ url, schema: 'millrace' })
    }, '160m'))
})

/** A database whose tables are on the disk. The log of the server is elsewhere. */
async function databaseOn(server: PostgresServer, disk: string): Promise<string> {
  const folder = `${disk}/tables`
  mkdirSync(folder)
  giveToServer(folder)
  const url = server.url('postgres')
  await query(url, `CREATE TABLESPACE small LOCATION '${folder}'`)
  await query(url, 'CREATE DATABASE on_small_disk TABLESPACE small')
  return server.url('on_small_disk')
}

/** The server runs as another user than root. */
function letServerIn(folder: string): void {
  chmodSync(folder, 0o755)
}

function giveToServer(path: string): void {
  const { uid, gid } = serverUser()
  if (uid !== undefined && gid !== undefined) chownSync(path, uid, gid)
}

/** Starts new files of the log until the server fails. */
async function useUpLog(url: string): Promise<void> {
  for (;;) {
    try {
      await query(url, "SELECT pg_logical_emit_message(true, '', ''); SELECT pg_switch_wal()")
    } catch {
      return
    }
  }
}

let sent = 0

/** Returns what was acknowledged. */
async function sendAll(backend: Backend, count: number): Promise<string[]> {
  const bodies = Array.from({ length: count }, () => {
    sent += 1
    return `${sent} ${padding}`
  })
  for (const body of bodies) await backend.send({ queue, messages: [{ body }] })
  return bodies
}

/** Sends until that is refused with this code; returns what was acknowledged. */
async function sendUntil(
  backend: Backend,
  code: 'store_full' | 'store_unreachable',
): Promise<readonly string[]> {
  const acknowledged: string[] = []
  for (;;) {
    try {
      acknowledged.push(...(await sendAll(backend, 1)))
    } catch (error) {
      if (!(error instanceof MillraceError)) throw error
      if (error.code === code) return acknowledged
      assert.equal(error.code, 'store_full')
    }
  }
}

/** Receives and acknowledges while the disk is full, which may fail in the same way. */
async function settleSome(backend: Backend): Promise<ReadonlySet<string>> {
  const settled = new Set<string>()
  try {
    const deliveries = await backend.receive({ queue, max: 5, visibilityMs: 1_000 })
    for (const { receipt, body } of deliveries) {
      const settlements = [{ receipt, outcome: { kind: 'acknowledge' } as const }]
      const [result] = await backend.settle({ queue, settlements })
      if (result?.status === 'settled') settled.add(body)
    }
  } catch (error) {
    assert.equal(error instanceof MillraceError && error.code, 'store_full', String(error))
  }
  return settled
}
