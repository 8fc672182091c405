/** Checks the types of a jobs queue: their names, schemas and attempts. */
import { checkLength, checkRange, describeGiven, type Violations } from '../core/checks.ts'
import { limits } from '../core/limits.ts'
import { controlChecks } from './check-controls.ts'
import {
  checkDuration,
  checkEach,
  checkFlag,
  checkFunction,
  checkKeys,
  checkSchema,
  isRecord,
} from './setting-checks.ts'

const typeKeys: readonly string[] = [
  'schema',
  'result',
  'attempts',
  'expiresAfter',
  'secret',
  'personal',
  'noPersonalData',
  'run',
  ...Object.keys(controlChecks),
]

export function checkJobTypes(into: Violations, field: string, types: unknown): void {
  if (!isRecord(types) || Object.keys(types).length === 0) {
    const given = isRecord(types) ? 'no type' : describeGiven(types)
    into.push({ field, given, allowed: 'an object with at least one job type' })
    return
  }
  for (const [name, declared] of Object.entries(types)) {
    const at = `${field}.${name.slice(0, limits.jobTypeLength.max)}`
    checkTypeName(into, at, name)
    checkJobType(into, at, declared)
  }
}

function checkTypeName(into: Violations, field: string, name: string): void {
  checkLength(into, field, name, limits.jobTypeLength)
  if (name.isWellFormed() && !name.includes('\0')) return
  const allowed = 'a name without NUL characters or lone surrogates'
  into.push({ field, given: 'a name with such characters', allowed })
}

function checkJobType(into: Violations, field: string, declared: unknown): void {
  if (!isRecord(declared) || '~standard' in declared) {
    checkSchema(into, field, declared)
    return
  }
  checkKeys(into, field, declared, typeKeys)
  checkSchema(into, `${field}.schema`, declared['schema'])
  checkEach(into, field, declared, {
    result: checkSchema,
    attempts: (to, at, value) => checkRange(to, at, value, limits.jobAttempts),
    expiresAfter: (to, at, value) => checkDuration(to, at, value, limits.jobExpiryMs),
    secret: checkPaths,
    personal: checkPaths,
    noPersonalData: checkFlag,
    run: checkFunction,
    ...controlChecks,
  })
}

export function checkPaths(into: Violations, field: string, value: unknown): void {
  if (Array.isArray(value) && value.every(isPath)) return
  const allowed =
    "paths, such as ['card.number'], without * or []: a path leads into each element of an array"
  into.push({ field, given: describeGiven(value), allowed })
}

/** A wildcard would match nothing, so it would hide nothing. */
function isPath(path: unknown): boolean {
  return typeof path === 'string' && /^[^.*[\]]+(?:\.[^.*[\]]+)*$/.test(path)
}
