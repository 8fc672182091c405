/** Checks the fields of a JSON body: only known fields, each with the right type. */
import { kindOf } from '../../contracts/validate-message.ts'
import { ApiProblem, type FieldError } from './api-problem.ts'

export type FieldKind = 'any' | 'text' | 'number' | 'texts' | FieldKinds

/** The fields of an object, by name. */
export interface FieldKinds {
  readonly [name: string]: FieldKind
}

/** Returns the body itself. The caller asserts a type that matches the kinds. */
export function readFields(body: unknown, kinds: FieldKinds): object {
  if (!isObject(body)) {
    throw ApiProblem.invalid({ field: 'body', expected: 'an object' })
  }
  const errors = wrongFields(body, kinds, '')
  if (errors.length > 0) throw new ApiProblem('invalid_request', { errors })
  return body
}

function wrongFields(body: object, kinds: FieldKinds, prefix: string): readonly FieldError[] {
  return Object.entries(body).flatMap(([name, value]): readonly FieldError[] => {
    const kind = Object.hasOwn(kinds, name) ? kinds[name] : undefined
    const field = `${prefix}${name}`.slice(0, 200)
    if (kind === undefined) {
      return [{ field, expected: `one of ${Object.keys(kinds).join(', ')}` }]
    }
    if (typeof kind === 'object' && isObject(value)) return wrongFields(value, kind, `${field}.`)
    return fits(value, kind) ? [] : [{ field, expected: expectedOf(kind) }]
  })
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function fits(value: unknown, kind: FieldKind): boolean {
  switch (kind) {
    case 'any':
      return true
    case 'text':
      return kindOf(value) === 'a string'
    case 'number':
      return kindOf(value) === 'a number'
    case 'texts':
      return Array.isArray(value) && value.every((entry) => typeof entry === 'string')
    default:
      return isObject(value)
  }
}

function expectedOf(kind: FieldKind): string {
  if (typeof kind === 'object') return `an object with ${Object.keys(kind).join(', ')}`
  if (kind === 'texts') return 'an array of strings'
  return kind === 'number' ? 'a number' : 'a string'
}
