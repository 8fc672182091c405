/** Reads query parameters: only known ones, each once. An empty value counts as unset. */
import { checkRange, type Violations } from '../../core/checks.ts'
import type { Range } from '../../core/limits.ts'
import { MillraceError } from '../../core/millrace-error.ts'
import { ApiProblem } from './api-problem.ts'

export type Query = Readonly<Record<string, readonly string[]>>

export function readQuery<Name extends string>(
  query: Query,
  names: readonly Name[],
): (name: Name) => string | undefined {
  const errors = Object.entries(query).flatMap(([name, values]) => {
    if (!names.some((known) => known === name)) {
      return [{ field: name.slice(0, 200), expected: `one of ${names.join(', ')}` }]
    }
    return values.length === 1 ? [] : [{ field: name, expected: 'one value' }]
  })
  if (errors.length > 0) throw new ApiProblem('invalid_request', { errors })
  return (name) => query[name]?.[0] || undefined
}

export const pageSizes: Range = { min: 1, max: 100, unit: 'entries' }
export const defaultPageSize = 20

/** The requested page size. */
export function readPageSize(into: Violations, text: string | undefined): number {
  const limit = Number(text ?? defaultPageSize)
  checkRange(into, 'limit', limit, pageSizes)
  return limit
}

/** The parameters of a list that only has pages. */
export function readPage(query: Query): { readonly limit: number; readonly after?: string } {
  const value = readQuery(query, ['limit', 'after'])
  const violations: Violations = []
  const limit = readPageSize(violations, value('limit'))
  if (violations.length > 0) throw MillraceError.invalid(violations)
  const after = value('after')
  return { limit, ...(after !== undefined && { after }) }
}
