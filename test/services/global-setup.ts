/**
 * One Postgres server with a PgBouncer, and one Redis server, for all tests of a run. The first test that asks for
 * them starts them, so other runs do not wait. They run as children of the test runner: the runner stops them at its end, and they also
 * end if it crashes.
 */
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { TestProject } from 'vitest/node'
import { startPgbouncer } from './pgbouncer.ts'
import { startPostgresServer } from './postgres-server.ts'
import { startRedisServer } from './redis-server.ts'

declare module 'vitest' {
  interface ProvidedContext {
    /**
     * A request to this URL starts Postgres and PgBouncer, if necessary, and returns `SharedServices`; one to
     * `redis` below it does the same with Redis, and returns `SharedRedis`.
     */
    readonly servicesUrl: string
  }
}

/** URLs of the database `postgres`: direct, and through PgBouncer in transaction mode. */
export interface SharedServices {
  readonly postgresUrl: string
  readonly pgbouncerUrl: string
}

export interface SharedRedis {
  readonly redisUrl: string
}

export default async function setUp(project: TestProject): Promise<() => Promise<void>> {
  const stack = new AsyncDisposableStack()
  let services: Promise<SharedServices> | undefined
  let redis: Promise<SharedRedis> | undefined
  const server = createServer(({ url }, response) => {
    const isRedis = url === '/redis'
    if (isRedis) redis ??= startRedis(stack)
    else services ??= startServices(stack)
    const asked: Promise<SharedServices | SharedRedis> | undefined = isRedis ? redis : services
    asked?.then(
      (urls) => response.end(JSON.stringify(urls)),
      (error: unknown) => response.writeHead(500).end(String(error)),
    )
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  project.provide('servicesUrl', `http://127.0.0.1:${port}/`)
  return async () => {
    server.close()
    server.closeAllConnections()
    // A run can end while they start.
    await Promise.allSettled([services, redis])
    await stack.disposeAsync()
  }
}

async function startServices(stack: AsyncDisposableStack): Promise<SharedServices> {
  const postgres = stack.use(await startPostgresServer())
  const pgbouncer = stack.use(await startPgbouncer({ serverPort: postgres.port }))
  return { postgresUrl: postgres.url('postgres'), pgbouncerUrl: pgbouncer.url('postgres') }
}

async function startRedis(stack: AsyncDisposableStack): Promise<SharedRedis> {
  return { redisUrl: stack.use(await startRedisServer()).url }
}
