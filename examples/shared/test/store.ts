/**
 * The store of a test of an example. Such tests run twice: on the folder that the example uses by default, and on a
 * new Postgres database. `vitest.config.ts` lists those that run on Postgres too.
 */
import type { OpenOptions } from 'millrace'
import type { Backend } from 'millrace/backend'
import { inject } from 'vitest'
import { freshDatabase } from '../../../test/services/fresh-database.ts'
import { openBackend, openPostgres } from '../not-public.ts'

declare module 'vitest' {
  interface ProvidedContext {
    readonly exampleStore?: 'postgres'
  }
}

type Variables = Readonly<Record<string, string>>

export function isOnPostgres(): boolean {
  return inject('exampleStore') === 'postgres'
}

/** What an example gets in its environment: nothing, or the URL of a new database. */
export async function storeVariables(): Promise<Variables> {
  return isOnPostgres() ? { MILLRACE_STORE: (await freshDatabase()).url } : {}
}

/** Opens a new store, in the folder or on Postgres. */
export async function openFreshBackend(folder: string): Promise<Backend> {
  const { MILLRACE_STORE: store = folder } = await storeVariables()
  return (await openBackend({ store, create: true })).backend
}

/** Lets a store on Postgres take the time from the ports, as the embedded store does. */
export function storeOnPortsTime({ MILLRACE_STORE: url }: Variables): Pick<OpenOptions, 'store'> {
  if (url === undefined) return {}
  return {
    store: {
      place: 'a test database',
      open: async (opening) =>
        (await openPostgres({ ...opening, url, usesPortsTime: true })).backend,
    },
  }
}
