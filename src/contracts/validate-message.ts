/**
 * Checks a message against the schema of its queue. What is refused is described by path, by kind
 * and by what the schema expects; the value itself never leaves this file, because messages are
 * private and several validators quote the value in their texts.
 */
import type { StandardSchemaV1 } from '@standard-schema/spec'
import { MillraceError, type Violation } from '../core/millrace-error.ts'
import type { MessageSchema } from './queue-declaration.ts'

/** The schema's output, or an `invalid_message` error. Without a schema every value passes. */
export async function validateMessage(
  schema: MessageSchema | undefined,
  value: unknown,
  field = 'message',
): Promise<unknown> {
  return schema === undefined ? value : validateMessageSoon(schema, value, field)
}

/** The same at once where the schema can: most do, and a promise for each message has its price. */
export function validateMessageSoon(
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

/** The same without waiting; a schema that has to wait for something is refused. */
export function validateMessageNow(
  schema: MessageSchema,
  value: unknown,
  field = 'message',
): unknown {
  const output = validateMessageSoon(schema, value, field)
  if (!(output instanceof Promise)) return output
  // Nobody waits for this answer, and its failure must not end the process.
  output.catch(() => undefined)
  const allowed = 'one that answers at once, since a transaction cannot wait for it'
  throw MillraceError.invalid([{ field, given: 'a schema that answers later', allowed }])
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

/** `message.items[2].name`: the way people write paths in code. */
export function joinPath(path: string, key: PropertyKey): string {
  return typeof key === 'number' ? `${path}[${key}]` : `${path}.${String(key)}`
}

/** What a value is, never what it says. */
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
 * What the schema wants there. Most libraries have an `expected` beside their text; zod has it only
 * for types, but its own texts do not quote values. Any other text may, so it is not used.
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
