/**
 * A new database on the server that all tests of a run share. It is dropped when the test that asked for it has
 * ended, or its file if that asked for it while it was loaded. One that a hook of a file asked for stays until the
 * server ends. Only test files can import this: it registers a hook.
 */
import { randomUUID } from 'node:crypto'
import { afterAll, inject, onTestFinished, TestRunner } from 'vitest'
import {
  createDatabase,
  type DatabaseOptions,
  databaseUrl,
  dropDatabase,
} from './create-database.ts'
import type { SharedServices } from './global-setup.ts'

export interface FreshDatabase {
  readonly name: string
  /** Directly to Postgres. */
  readonly url: string
  /** Through PgBouncer in transaction mode. */
  readonly pgbouncerUrl: string
}

export async function freshDatabase(options?: DatabaseOptions): Promise<FreshDatabase> {
  const name = `test_${randomUUID().replaceAll('-', '')}`
  const drop = async (): Promise<void> =>
    dropDatabase({ server: (await sharedServices()).postgresUrl, name })
  // Before anything is awaited: after that, it may be unknown which test or file this call belongs to.
  if (TestRunner.getCurrentTest() === undefined) afterAll(drop)
  else onTestFinished(drop)
  const { postgresUrl: server, pgbouncerUrl } = await sharedServices()
  const url = await createDatabase({ server, name, ...options })
  return { name, url, pgbouncerUrl: databaseUrl({ server: pgbouncerUrl, name }) }
}

/** The URLs of the shared server itself, which is started if necessary. */
export function sharedServices(): Promise<SharedServices> {
  services ??= requestServices()
  return services
}

let services: Promise<SharedServices> | undefined

async function requestServices(): Promise<SharedServices> {
  const response = await fetch(inject('servicesUrl'))
  if (!response.ok) throw new Error(await response.text())
  return (await response.json()) as SharedServices
}
