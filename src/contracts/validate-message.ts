/**
 * Checks a message against the schema of its queue. Violations give the path, the kind of value and what the
 * schema expects. They never contain the value itself: messages are private, and several validators quote
 * values in their messages.
 */
import type { StandardSchemaV1 } from '@standard-schema/spec'
import { MillraceError, type Violation } from '../core/millrace-error.ts'
import type { MessageSchema } from './queue-declaration.ts'

/**
 * Resolves with the schema's output, or rejects with an `invalid_message` error. Without a schema every value
 * passes.
 */
export async function validateMessage(
  schema: MessageSchema | undefined,
  value: unknown,
  field = 'message',
): Promise<unknown> {
  return schema === undefined ? value : validateMaybeAsync(schema, value, field)
}

/**
 * Returns without a promise if the schema is synchronous. Most are, and a promise per message is expensive.
 */
export function validateMaybeAsync(
  schema: MessageSchema,
  value: unknown,
  field = 'message',
): unknown {
  const standard = schema['~standard']
  const result = standard.validate(value)
  const context = { vendor: standard.vendor, value, field }
  return 'then' in result
    ? Promise.resolve(result).then((later) => outputOf(later, context))
    : outputOf(result, context)
}

/** Always synchronous. Throws if the schema is asynchronous. */
export function validateMessageSync(
  schema: MessageSchema,
  value: unknown,
  field = 'message',
): unknown {
  const output = validateMaybeAsync(schema, value, field)
  if (!(output instanceof Promise)) return output
  // The result is not used, and an unhandled rejection would end the process.
  output.catch(() => undefined)
  const allowed = 'a synchronous schema, because a transaction cannot wait'
  throw MillraceError.invalid([{ field, given: 'an asynchronous schema', allowed }])
}

function outputOf(result: StandardSchemaV1.Result<unknown>, context: IssueContext): unknown {
  if (result.issues === undefined) return result.value
  const violations = result.issues.map((issue) => violationOf(issue, context))
  throw MillraceError.invalid(violations, 'invalid_message')
}

interface IssueContext {
  readonly vendor: string
  readonly value: unknown
  readonly field: string
}

function violationOf(issue: StandardSchemaV1.Issue, context: IssueContext): Violation {
  const path = (issue.path ?? []).map((part) => (typeof part === 'object' ? part.key : part))
  return {
    field: path.reduce<string>(joinPath, context.field).slice(0, 200),
    given: kindOf(path.reduce<unknown>(valueAt, context.value)),
    allowed: expectationOf(issue, context.vendor),
  }
}

/** `message.items[2].name`: a path as written in code. */
export function joinPath(path: string, key: PropertyKey): string {
  return typeof key === 'number' ? `${path}[${key}]` : `${path}.${String(key)}`
}

/** The kind of a value, never the value itself. */
export function kindOf(value: unknown): string {
  if (value === undefined) return 'nothing'
  if (value === null) return 'null'
  if (Array.isArray(value)) return 'an array'
  return typeof value === 'object' ? 'an object' : `a ${typeof value}`
}

function valueAt(value: unknown, key: PropertyKey): unknown {
  return typeof value === 'object' && value !== null && Object.hasOwn(value, key)
    ? (value as Readonly<Record<PropertyKey, unknown>>)[key]
    : undefined
}

interface IssueDetails extends StandardSchemaV1.Issue {
  readonly expected?: unknown
  readonly type?: unknown
}

/**
 * What the schema expects at this path. Most libraries have an `expected` field beside their message. Zod has
 * it only for types, but its messages do not quote values. Messages of other libraries may, so they are not
 * used.
 */
function expectationOf(issue: StandardSchemaV1.Issue, vendor: string): string {
  const details = issue as IssueDetails
  if (typeof details.expected === 'string' && details.expected !== '') return details.expected
  if (vendor === 'zod') {
    const [, expected = `another value (${issue.message})`] =
      /expected (.*?)(?:, received .*)?$/.exec(issue.message) ?? []
    return expected
  }
  return typeof details.type === 'string'
    ? `a value that passes '${details.type}'`
    : 'a value that the contract accepts'
}
