/**
 * The store of a test of an example. Such tests run twice: on the folder that the example uses by default, and on a
 * new Postgres database. `vitest.config.ts` lists those that run on Postgres too.
 */
import type { OpenOptions } from 'millrace'
import type { Backend } from 'millrace/backend'
import type { VirtualClock } from 'millrace/testing'
import { inject } from 'vitest'
import { freshDatabase } from '../../../test/services/fresh-database.ts'
import {
  type OpenedPostgres,
  openBackend,
  openPostgres,
  type Store,
  settleTurns,
} from '../not-public.ts'

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

/**
 * Lets a store on Postgres take the time from the ports, as the embedded store does. If that time is virtual, it
 * waits for the answers of the server.
 */
export function storeOnPortsTime(
  { MILLRACE_STORE: url }: Variables,
  clock?: VirtualClock,
): Pick<OpenOptions, 'store'> {
  if (url === undefined) return {}
  const opened: OpenedPostgres[] = []
  if (clock !== undefined) waitFor(opened, clock)
  const open: Store['open'] = async (opening) => {
    const one = await openPostgres({ ...opening, url, usesPortsTime: true })
    opened.push(one)
    return one.backend
  }
  return { store: { place: 'a test database', open } }
}

export interface FreshStore {
  /** A folder, or a new database on the time of the clock. */
  readonly store: Store | string
  /** Name the same store to other processes. */
  readonly variables: Variables
}

export async function freshStore(folder: string, clock: VirtualClock): Promise<FreshStore> {
  const variables = await storeVariables()
  const { store = folder } = storeOnPortsTime(variables, clock)
  return { store, variables: { MILLRACE_STORE: folder, ...variables } }
}

/** Lets each step of the clock wait until nothing is under way, and again for what followed from it. */
function waitFor(opened: readonly OpenedPostgres[], clock: VirtualClock): void {
  const advance = clock.advance.bind(clock)
  const settle = async (): Promise<void> => {
    for (let rounds = 0; rounds < 2; rounds += 1) {
      await settleTurns()
      await Promise.all(opened.map((one) => one.whenIdle()))
    }
  }
  clock.advance = (time) => advance(time, settle)
}
