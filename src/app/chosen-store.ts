/** Which store a program asked for: by an option, by the environment, or the default. */
import type { Store } from '../backends/store.ts'
import { describeGiven } from '../core/checks.ts'
import { MillraceError } from '../core/millrace-error.ts'
import { serverDefaults } from '../core/server-defaults.ts'

export interface StoreChoice {
  readonly store?: Store | string | undefined
  readonly data?: string | undefined
}

export type Variables = Readonly<Record<string, string | undefined>>

/** An option, or else MILLRACE_STORE, MILLRACE_DATA or `.millrace`. */
export function chosenStore(
  choice: StoreChoice,
  environment: Variables = process.env,
): Store | string {
  return givenStore(choice, environment) ?? serverDefaults.data
}

/** The same without a default. */
export function givenStore(
  { store, data }: StoreChoice,
  { MILLRACE_STORE, MILLRACE_DATA }: Variables,
): Store | string | undefined {
  if (store !== undefined && data !== undefined) {
    const allowed = 'one of `store` and `data`'
    throw MillraceError.invalid([{ field: 'store', given: 'both', allowed }])
  }
  return store ?? data ?? (MILLRACE_STORE || MILLRACE_DATA || undefined)
}

/** Whether it is the folder of an embedded store. Throws `invalid_argument` if it names no store. */
export function isFolder(store: Store | string): store is string {
  if (typeof store !== 'string') {
    if (isStore(store)) return false
    const allowed = 'a store, such as postgres(url), a URL or a folder'
    throw MillraceError.invalid([{ field: 'store', given: describeGiven(store), allowed }])
  }
  const [, scheme] = /^([a-z][a-z0-9+.-]*):\/\//i.exec(store) ?? []
  if (scheme === undefined || /^postgres(?:ql)?$/.test(scheme)) return scheme === undefined
  const allowed = 'postgres://user:password@host:5432/database, or a folder'
  // The rest of a URL may contain a password.
  throw MillraceError.invalid([{ field: 'store', given: `a URL with ${scheme}://`, allowed }])
}

function isStore(value: unknown): value is Store {
  const { open }: { readonly open?: unknown } = Object(value)
  return typeof open === 'function'
}
