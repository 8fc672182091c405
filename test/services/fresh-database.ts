/**
 * A new database on the server that all tests of a run share. It is dropped when the test that asked for it has
 * ended, or its file if it was asked for outside of a test. Only test files can import this: it registers a hook.
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
  const isInTest = TestRunner.getCurrentTest() !== undefined
  const { postgresUrl: server, pgbouncerUrl } = await sharedServices()
  const name = `test_${randomUUID().replaceAll('-', '')}`
  const url = await createDatabase({ server, name, ...options })
  const drop = (): Promise<void> => dropDatabase({ server, name })
  if (isInTest) onTestFinished(drop)
  else dropAtEnd.push(drop)
  return { name, url, pgbouncerUrl: databaseUrl({ server: pgbouncerUrl, name }) }
}

/** The URLs of the shared server itself, which is started if necessary. */
export function sharedServices(): Promise<SharedServices> {
  services ??= requestServices()
  return services
}

let services: Promise<SharedServices> | undefined
const dropAtEnd: (() => Promise<void>)[] = []

afterAll(async () => {
  for (const drop of dropAtEnd) await drop()
})

async function requestServices(): Promise<SharedServices> {
  const response = await fetch(inject('servicesUrl'))
  if (!response.ok) throw new Error(await response.text())
  return (await response.json()) as SharedServices
}
