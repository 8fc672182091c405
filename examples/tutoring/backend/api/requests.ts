/** The request schemas of the API, and its errors. */
import type { Context } from 'hono'
import { HTTPException } from 'hono/http-exception'
import { z } from 'zod'
import { objectKey } from '../messages.ts'
import { errorCodes, isErrorCode } from '../rules/taxonomy.ts'

const id = z.uuid()
const gradeLevel = z.int().min(1).max(12)
const code = z.string().regex(/^[A-Z][A-Z0-9_]{2,63}$/)

export const NewItem = z.strictObject({
  statement: z.string().min(1).max(300),
  subdomainCode: code,
  gradeLevel,
})

export const NewAttempt = z.strictObject({
  /** Chosen by the client, so that it can repeat the request. */
  attemptId: id.optional(),
  studentId: id,
  exerciseId: id,
  steps: z.array(z.string().min(1).max(300)).min(1).max(60),
})

export const AttemptPhoto = z.strictObject({ photoKey: objectKey })

export const NewGuide = z.strictObject({
  teacherId: id,
  sourcePdfKey: objectKey.startsWith('guides/uploads/'),
  courseGradeLevel: gradeLevel,
})

/** Null or missing: every question of the guide. */
export const SolutionRequest = z.strictObject({ guideQuestionId: id.nullable().default(null) })

export const NewSubmission = z.strictObject({
  studentId: id,
  guideQuestionId: id,
  photoKeys: z.array(objectKey).min(1).max(3),
})

export const ItemRequest = z.strictObject({
  subdomainCode: code,
  gradeLevel,
  targetErrorCodes: z
    .array(z.string().refine(isErrorCode, `one of ${errorCodes.join(', ')}`))
    .min(1)
    .max(20),
  count: z.int().min(1).max(50),
})

export interface Problem {
  readonly error: ProblemCode
  readonly issues?: readonly { readonly path: string; readonly message: string }[]
}

export type ProblemCode =
  | 'invalid_request'
  | 'invalid_message'
  | 'not_found'
  | 'conflict'
  | 'unavailable'
  | 'internal'

const statuses = {
  invalid_request: 400,
  invalid_message: 400,
  not_found: 404,
  conflict: 409,
  unavailable: 503,
  internal: 500,
} as const satisfies Record<ProblemCode, number>

/** Ends a request with an error. Messages name fields and rules, never values. */
export function problem(error: ProblemCode, issues?: Problem['issues']): HTTPException {
  const body: Problem = { error, ...(issues && { issues }) }
  return new HTTPException(statuses[error], {
    res: Response.json(body, { status: statuses[error] }),
  })
}

/** The body of a request. Throws an error that names all wrong fields. */
export async function read<Schema extends z.ZodType>(
  c: Context,
  schema: Schema,
): Promise<z.infer<Schema>> {
  const text = await c.req.text()
  let body: unknown
  try {
    body = text === '' ? {} : JSON.parse(text)
  } catch {
    throw problem('invalid_request', [{ path: '', message: 'expected JSON' }])
  }
  const { success, data, error } = schema.safeParse(body)
  if (success) return data
  const issues = error.issues.map(({ path, message }) => ({ path: path.join('.'), message }))
  throw problem('invalid_request', issues)
}

/** An id in a path that is not a UUID is not found. */
export function idIn(c: Context): string {
  const { success, data } = id.safeParse(c.req.param('id'))
  if (!success) throw problem('not_found')
  return data
}

export function found<Value>(value: Value | undefined): Value {
  if (value === undefined) throw problem('not_found')
  return value
}
