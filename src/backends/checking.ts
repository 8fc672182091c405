/** Runs checks and turns all that they refuse into one error. */
import { checkRange, describeGiven, type Violations } from '../core/checks.ts'
import { limits } from '../core/limits.ts'
import { MillraceError } from '../core/millrace-error.ts'

export function check(run: (into: Violations) => void): void {
  const error = refusal(run)
  if (error !== undefined) throw error
}

export function refusal(run: (into: Violations) => void): MillraceError | undefined {
  const violations: Violations = []
  run(violations)
  return violations.length === 0 ? undefined : MillraceError.invalid(violations)
}

/** What is checked of each request to a store; null where there is nothing to check. */
export type Checks<Store> = {
  readonly [Name in keyof Store]: Store[Name] extends (request: infer Request) => Promise<unknown>
    ? Check<Request> | null
    : never
}

type Check<Request> = (into: Violations, request: Request) => void

type Method = (request: unknown) => unknown

/** A store that rejects a request with all that its check refuses, before the store sees it. */
export function checkedStore<Store extends object>(store: Store, checks: Checks<Store>): Store {
  const methods = store as Readonly<Record<string, Method>>
  const entries: [string, Check<unknown> | null][] = Object.entries(checks)
  return Object.fromEntries(
    entries.map(([name, checkRequest]): [string, Method] => {
      if (checkRequest === null) return [name, (request) => methods[name]?.(request)]
      const checked: Method = async (request) => {
        check((into) => checkRequest(into, request))
        return methods[name]?.(request)
      }
      return [name, checked]
    }),
  ) as Store
}

export function checkPage(into: Violations, { limit }: { readonly limit: number }): void {
  checkRange(into, 'limit', limit, limits.pageSize)
}

/** Whether a call may have this number of entries. */
export function isCount(items: readonly unknown[]): boolean {
  const { min, max } = limits.messagesPerCall
  return Array.isArray(items) && items.length >= min && items.length <= max
}

export function checkCount(into: Violations, field: string, items: readonly unknown[]): void {
  const { min, max } = limits.messagesPerCall
  if (isCount(items)) return
  into.push({
    field,
    given: Array.isArray(items) ? `${items.length} entries` : describeGiven(items),
    allowed: `${min} to ${max} entries`,
  })
}
