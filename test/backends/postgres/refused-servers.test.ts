/** What cannot be opened is refused in one line, which says why and contains no password. */
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { readFile, writeFile } from 'node:fs/promises'
import { createServer, type Socket } from 'node:net'
import { inspect, promisify } from 'node:util'
import { afterAll, beforeAll, describe, test } from 'vitest'
import { openBackend } from '../../../src/app/open-backend.ts'
import type { ErrorCode } from '../../../src/core/error-codes.ts'
import { MillraceError } from '../../../src/core/millrace-error.ts'
import { freePort } from '../../services/free-port.ts'
import { freshDatabase } from '../../services/fresh-database.ts'
import { type PostgresServer, startPostgresServer } from '../../services/postgres-server.ts'
import { query } from '../../services/query.ts'
import { type TemporaryFolder, temporaryFolder } from '../../support/temporary-folder.ts'

const password = 'hunter2'

/** The role `ann` needs a password, and `eve` also TLS. */
const access = `
local all all trust
host all postgres 127.0.0.1/32 trust
host all ann 127.0.0.1/32 scram-sha-256
hostssl all eve 127.0.0.1/32 scram-sha-256
`

let folder: TemporaryFolder
let server: PostgresServer

beforeAll(async () => {
  folder = await temporaryFolder('certificate')
  const tls = await newCertificate(folder)
  server = await startPostgresServer({ access, tls })
  for (const role of ['ann', 'eve']) {
    await query(server.url('postgres'), `CREATE ROLE ${role} LOGIN PASSWORD '${password}'`)
  }
  await server.createDatabase('shop')
  await query(server.url('postgres'), 'GRANT CREATE ON DATABASE shop TO ann, eve')
})

afterAll(async () => {
  await server.close()
  await folder.remove()
})

async function newCertificate(
  into: TemporaryFolder,
): Promise<{ readonly certificate: string; readonly key: string }> {
  const [certificate, key] = [into.file('server.crt'), into.file('server.key')]
  const names = ['-subj', '/CN=localhost', '-addext', 'subjectAltName=IP:127.0.0.1']
  const kind = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes']
  const files = ['-keyout', key, '-out', certificate]
  await promisify(execFile)('openssl', ['req', '-x509', ...kind, ...names, ...files])
  return { certificate: await readFile(certificate, 'utf8'), key: await readFile(key, 'utf8') }
}

interface Refusal {
  readonly code: ErrorCode
  readonly message: RegExp
  readonly busyTimeoutMs?: number
}

async function assertRefused(store: string, { code, message, ...options }: Refusal): Promise<void> {
  await assert.rejects(openBackend({ store, create: true, ...options }), (error: unknown) => {
    assert.ok(error instanceof MillraceError, inspect(error))
    assert.match(error.message, message)
    assert.equal(error.code, code)
    assert.doesNotMatch(error.message, /\n/)
    assert.doesNotMatch(inspect(error, { depth: 20, showHidden: false }), new RegExp(password))
    return true
  })
}

/** A URL of the server for a role. */
function urlFor(role: string, database = 'shop', parameters = ''): string {
  return `postgres://${role}:${password}@127.0.0.1:${server.port}/${database}${parameters}`
}

async function opens(store: string): Promise<void> {
  await using opened = await openBackend({ store, create: true })
  assert.deepEqual((await opened.backend.listQueues({ limit: 1 })).items, [])
}

describe('a Postgres server is refused', () => {
  test('if its host is not known', () =>
    assertRefused(`postgres://ann:${password}@no-such-host.invalid/shop`, {
      code: 'store_unreachable',
      message: /^Cannot open postgres:\/\/no-such-host\.invalid\/shop: the host is not known/,
    }))

  test('if no server listens at the port', async () => {
    const port = await freePort()
    await assertRefused(`postgres://ann:${password}@127.0.0.1:${port}/shop`, {
      code: 'store_unreachable',
      message: new RegExp(
        `^Cannot open postgres://127.0.0.1:${port}/shop: no server listens there.$`,
      ),
    })
  })

  test('if there is no such socket', () =>
    assertRefused(`postgres://ann:${password}@/shop?host=${encodeURIComponent(folder.path)}`, {
      code: 'store_unreachable',
      message: /no server listens at this socket\.$/,
    }))

  test('if it never answers', async () => {
    const sockets: Socket[] = []
    const silent = createServer((socket) => void sockets.push(socket)).listen(0, '127.0.0.1')
    const port = await freePortOf(silent)
    await assertRefused(`postgres://ann:${password}@127.0.0.1:${port}/shop`, {
      code: 'store_unreachable',
      message: /the server does not answer\.$/,
      busyTimeoutMs: 100,
    })
    for (const socket of sockets) socket.destroy()
    silent.close()
  })

  test('if the password is wrong, the role unknown, or the password missing', async () => {
    await assertRefused(urlFor('ann').replace(password, `not${password}`), {
      code: 'store_unusable',
      message: /the server refused the role or its password\.$/,
    })
    await assertRefused(urlFor('ann').replace(`:${password}`, ''), {
      code: 'store_unusable',
      message: /the server asks for a password\. Add it to the URL, or set PGPASSWORD\.$/,
    })
    await assertRefused(urlFor('nobody'), {
      code: 'store_unusable',
      message: /the server refused the connection: no pg_hba\.conf entry for host .* "nobody"/,
    })
  })

  test('if it has no database of this name', () =>
    assertRefused(urlFor('ann', 'shops'), {
      code: 'store_unusable',
      message: /^Cannot open postgres:\/\/127.*\/shops: the server has no database of this name\.$/,
    }))

  test('if it requires TLS and the URL does not', async () => {
    await assertRefused(urlFor('eve'), {
      code: 'store_unusable',
      message: /no pg_hba\.conf entry for host .*, no encryption\. If the server requires TLS, add/,
    })
    const root = encodeURIComponent(folder.file('server.crt'))
    await opens(urlFor('eve', 'shop', `?sslmode=verify-full&sslrootcert=${root}&schema=eve`))
  })

  test('if its certificate is not trusted', async () => {
    await assertRefused(urlFor('eve', 'shop', '?sslmode=verify-full'), {
      code: 'store_unusable',
      message: /the certificate of the server is not trusted \(DEPTH_ZERO_SELF_SIGNED_CERT\)/,
    })
    await writeFile(folder.file('other.crt'), 'no certificate')
    const missing = encodeURIComponent(folder.file('missing.crt'))
    await assertRefused(urlFor('eve', 'shop', `?sslmode=verify-full&sslrootcert=${missing}`), {
      code: 'store_unusable',
      message: /the file of sslrootcert, sslcert or sslkey cannot be read \(ENOENT\)\.$/,
    })
  })

  test('if it has no TLS and the URL requires it', async () => {
    const { url } = await freshDatabase()
    await assertRefused(`${url}?sslmode=verify-full`, {
      code: 'store_unusable',
      message: /the server has no TLS\. Remove sslmode from the URL to do without it\.$/,
    })
  })

  test('if it is older than Postgres 14', async () => {
    const { url, name } = await freshDatabase()
    // Found before the functions of the system, it reports what an older server does.
    await query(
      url,
      `CREATE SCHEMA older;
      CREATE FUNCTION older.current_setting(name text) RETURNS text LANGUAGE sql AS $$
        SELECT CASE name WHEN 'server_version' THEN '13.9' WHEN 'server_version_num' THEN '130009'
          ELSE pg_catalog.current_setting(name) END $$;
      ALTER DATABASE "${name}" SET search_path = older, pg_catalog`,
    )
    await assertRefused(url, {
      code: 'store_unusable',
      message: /^This is Postgres 13\.9\. Millrace needs Postgres 14 or newer\.$/,
    })
  })

  test('if it has no connections left', async () => {
    const limited = urlFor('ann')
    await query(server.url('postgres'), 'ALTER ROLE ann CONNECTION LIMIT 0')
    await assertRefused(limited, {
      code: 'store_unreachable',
      message: /the server accepts no more connections\.$/,
    })
    await query(server.url('postgres'), 'ALTER ROLE ann CONNECTION LIMIT -1')
  })

  test('if the role or the database may only read', async () => {
    const { url, name } = await freshDatabase()
    await query(url, `ALTER DATABASE "${name}" SET default_transaction_read_only = on`)
    await assertRefused(url, {
      code: 'store_unusable',
      message: /^The role "postgres" may only read: default_transaction_read_only is on for it/,
    })
  })

  test('if it is a replica, also of a store', async () => {
    await using primary = await startPostgresServer()
    const url = primary.url('postgres')
    await opens(url)
    await primary.stop('fast')
    await primary.startAsReplica()
    await assertRefused(url, {
      code: 'store_unusable',
      message: /^The server is a read-only replica\. Use the URL of the primary server\.$/,
    })
  })
})

describe('an open store', () => {
  test('says that its server has become a replica, and works again on the primary', async () => {
    await using primary = await startPostgresServer()
    const url = primary.url('postgres')
    const busyTimeoutMs = 500
    await using opened = await openBackend({ store: url, create: true, busyTimeoutMs })
    const { backend } = opened
    await backend.createQueue({ queue: 'q' })
    await primary.stop('fast')
    await primary.startAsReplica()
    const send = () => backend.send({ queue: 'q', messages: [{ body: 'm' }] })
    await assert.rejects(send(), {
      code: 'store_unreachable',
      message: 'The database server only reads now. It may have become a replica.',
    })
    await query(url, 'SELECT pg_promote()')
    assert.equal((await send())[0]?.status, 'created')
  })
})

async function freePortOf(listening: ReturnType<typeof createServer>): Promise<number> {
  if (!listening.listening) await new Promise((resolve) => listening.once('listening', resolve))
  const address = listening.address()
  assert.ok(typeof address === 'object' && address !== null)
  return address.port
}
