import { describeGiven } from '../../core/checks.ts'
import { MillraceError } from '../../core/millrace-error.ts'

/** A `Pool` of the package `pg`, without its types: they may be missing. */
export interface AnyPool {
  connect(): Promise<unknown>
  query(text: string): Promise<unknown>
  end(): Promise<void>
}

/** Throws `invalid_argument` if it is something else. */
export function poolOf(given: unknown): AnyPool {
  const methods: Readonly<Record<string, unknown>> = Object(given)
  const isPool = ['connect', 'query', 'end'].every((name) => typeof methods[name] === 'function')
  // A client has these methods too, but can run only one transaction at a time.
  if (isPool && 'totalCount' in methods) return given as AnyPool
  const allowed = 'a URL or a pg.Pool'
  throw MillraceError.invalid([{ field: 'database', given: describeGiven(given), allowed }])
}
