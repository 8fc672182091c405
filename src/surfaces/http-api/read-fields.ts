/** Checks the fields of a JSON body: only known fields, each with the right type. */
import { kindOf } from '../../contracts/validate-message.ts'
import { ApiProblem, type FieldError } from './api-problem.ts'

export type FieldKind = 'any' | 'text' | 'number' | 'texts'

export type FieldKinds = Readonly<Record<string, FieldKind>>

/** Returns the body itself. The caller asserts a type that matches the kinds. */
export function readFields(body: unknown, kinds: FieldKinds): object {
  if (typeof body !== 'object' || body === null || Array.isArray(body)) {
    throw ApiProblem.invalid({ field: 'body', expected: 'an object' })
  }
  const errors = Object.entries(body).flatMap(([name, value]): readonly FieldError[] => {
    const kind = Object.hasOwn(kinds, name) ? kinds[name] : undefined
    if (kind === undefined) {
      return [{ field: name.slice(0, 200), expected: `one of ${Object.keys(kinds).join(', ')}` }]
    }
    return fits(value, kind) ? [] : [{ field: name, expected: expectedOf(kind) }]
  })
  if (errors.length > 0) throw new ApiProblem('invalid_request', { errors })
  return body
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
  }
}

function expectedOf(kind: FieldKind): string {
  if (kind === 'texts') return 'an array of strings'
  return kind === 'number' ? 'a number' : 'a string'
}
