/** The schemas of the OpenAPI document: the API's own, and those of the app's job types. */

import { resolver } from 'hono-openapi'
import { jobTypeOf } from '../../contracts/jobs-declaration.ts'
import type { MessageSchema } from '../../contracts/queue-declaration.ts'
import { jobLabelNames, jobLabels } from '../../core/job-labels.ts'
import { jobStatuses } from '../../core/job-state.ts'
import { logLevels } from '../../core/log-line.ts'
import { snakeCase } from '../../core/snake-case.ts'
import { switchModes, switchScopes } from '../../operations/switches.ts'
import { fieldsOfUsers } from './enqueue-request.ts'
import type { KnownQueue } from './jobs-context.ts'
import { problems } from './problems.ts'

/** A schema object of OpenAPI 3.1. */
export type OpenApiSchema = Awaited<
  ReturnType<ReturnType<typeof resolver>['toOpenAPISchema']>
>['schema']
type SchemaOrReference = OpenApiSchema | { readonly $ref: string }
export type OpenApiSchemas = Readonly<Record<string, OpenApiSchema>>

const text: OpenApiSchema = { type: 'string' }
const count: OpenApiSchema = { type: 'integer', minimum: 0 }
const time: OpenApiSchema = { type: 'string', format: 'date-time' }
const textOrNull: OpenApiSchema = { type: ['string', 'null'] }
const timeOrNull: OpenApiSchema = { type: ['string', 'null'], format: 'date-time' }
const status: OpenApiSchema = { type: 'string', enum: [...jobStatuses] }

const duration: OpenApiSchema = { type: 'string', description: "A duration such as '30s'." }
const mode: OpenApiSchema = { type: 'string', enum: [...switchModes] }
const scope: OpenApiSchema = { type: 'string', enum: [...switchScopes] }

const errorFields = { name: text, message: text, stack: text, code: optional(text) }
const failure: OpenApiSchema = object({
  ...errorFields,
  causes: { type: 'array', items: object(errorFields) },
})

export const apiSchemas: OpenApiSchemas = {
  Problem: object({
    type: text,
    title: text,
    status: { type: 'integer' },
    detail: text,
    code: { type: 'string', enum: Object.keys(problems) },
    errors: optional({ type: 'array', items: object({ field: text, expected: text }) }),
    request_id: optional(text),
  }),
  Health: object({ status: text, version: optional(text), error: optional({ type: 'object' }) }),
  AcceptedJob: object({
    job_id: text,
    status: { type: ['string', 'null'], enum: [...jobStatuses, null] },
  }),
  Job: object({
    id: text,
    job_type: text,
    status,
    progress: { type: 'number', minimum: 0, maximum: 1 },
    attempts_made: count,
    max_attempts: count,
    retry_of: textOrNull,
    created_at: time,
    started_at: timeOrNull,
    finished_at: timeOrNull,
    run_at: timeOrNull,
    expires_at: timeOrNull,
    updated_at: time,
    error_message: textOrNull,
    result: optional({}),
    queue_name: optional(text),
    backend_id: optional(text),
    owner: optional(textOrNull),
    tenant: optional(textOrNull),
    ...labelFields(textOrNull),
    idempotency_key: optional(textOrNull),
    spent: optional({ type: 'object', additionalProperties: { type: 'number', minimum: 0 } }),
    payload: optional({}),
  }),
  Reschedule: {
    ...object({ delay: optional(duration), run_at: optional(time) }),
    additionalProperties: false,
  },
  JobPage: object({
    jobs: { type: 'array', items: { $ref: '#/components/schemas/Job' } },
    next: textOrNull,
  }),
  Attempts: object({
    attempts: {
      type: 'array',
      items: object({
        attempt: count,
        outcome: text,
        error_message: textOrNull,
        started_at: time,
        ended_at: timeOrNull,
        failure: optional({ anyOf: [failure, { type: 'null' }] }),
      }),
    },
  }),
  Logs: object({
    logs: {
      type: 'array',
      items: object({
        attempt: count,
        at: time,
        level: { type: 'string', enum: [...logLevels] },
        message: text,
        fields: { type: 'object' },
      }),
    },
  }),
  NewSwitch: {
    ...object({ mode, note: optional(text), for: optional(duration) }),
    additionalProperties: false,
  },
  Switch: object({
    scope,
    value: text,
    mode,
    by: text,
    note: textOrNull,
    set_at: timeOrNull,
    until: timeOrNull,
    source: { type: 'string', enum: ['store', 'environment'] },
  }),
  Switches: object({
    switches: { type: 'array', items: { $ref: '#/components/schemas/Switch' } },
  }),
  SwitchEvents: object({
    events: {
      type: 'array',
      items: object({
        event: { type: 'string', enum: ['set', 'lifted'] },
        scope,
        value: text,
        mode: { type: ['string', 'null'], enum: [...switchModes, null] },
        by: text,
        note: textOrNull,
        at: time,
        until: timeOrNull,
      }),
    },
    next: textOrNull,
  }),
}

/** `Queue` and `NewJob`, for the queues that the caller may use. */
export async function enqueueSchemas(
  queues: readonly KnownQueue[],
  forUsers: boolean,
): Promise<OpenApiSchemas> {
  const types = queues.flatMap(({ key, declared }) =>
    Object.keys(declared.options.types).map((type) => ({ key, declared, type })),
  )
  const choices = new Map<string, OpenApiSchema>()
  for (const [index, { key, declared, type }] of types.entries()) {
    const payload = await openApiSchemaOf(jobTypeOf(declared, type)?.schema)
    const name = componentName(`${key}.${type}`)
    const isOnly = Object.keys(declared.options.types).length === 1
    const fields = { ...newJobFields, type: typeField(type, isOnly), payload }
    const shown = Object.entries(fields).filter(
      ([field]) => !forUsers || fieldsOfUsers.includes(field),
    )
    const schema = { ...object(Object.fromEntries(shown)), additionalProperties: false }
    choices.set(choices.has(name) ? `${name}_${index}` : name, schema)
  }
  return {
    ...Object.fromEntries(choices),
    Queue: { type: 'string', ...(queues.length > 0 && { enum: queues.map(({ key }) => key) }) },
    NewJob:
      choices.size === 0
        ? { type: 'object' }
        : { anyOf: [...choices.keys()].map((name) => ({ $ref: `#/components/schemas/${name}` })) },
  }
}

const newJobFields: Readonly<Record<string, Optional>> = {
  idempotency_key: optional(text),
  throttle: optional(windowOf({ key: text, window: duration })),
  debounce: optional(windowOf({ key: text, window: duration, max_wait: optional(duration) })),
  owner: optional(text),
  tenant: optional(text),
  ...labelFields(text),
  delay: optional(duration),
  run_at: optional(time),
  expires_after: optional(duration),
  attempts: optional({ type: 'integer', minimum: 1 }),
}

function windowOf(fields: Parameters<typeof object>[0]): OpenApiSchema {
  return { ...object(fields), additionalProperties: false }
}

/** @param one the schema of a label with one value */
function labelFields(one: OpenApiSchema): Readonly<Record<string, Optional>> {
  const fields = jobLabelNames.map((name) => {
    const { kind, help: description } = jobLabels[name]
    const schema: OpenApiSchema = kind === 'texts' ? { type: 'array', items: text } : one
    return [snakeCase(name), optional({ ...schema, description })]
  })
  return Object.fromEntries(fields)
}

function typeField(type: string, isOnly: boolean): OpenApiSchema | Optional {
  const schema: OpenApiSchema = { type: 'string', const: type }
  return isOnly ? optional(schema) : schema
}

/** The schema of a payload. If its library cannot export one, the schema allows any value. */
export async function openApiSchemaOf(payload: MessageSchema | undefined): Promise<OpenApiSchema> {
  if (payload === undefined) return {}
  try {
    const { schema, components } = await resolver(payload).toOpenAPISchema()
    // References inside a schema would be wrong as soon as the schema is part of the document.
    return components !== undefined || JSON.stringify(schema).includes('"$ref"') ? {} : schema
  } catch {
    return {}
  }
}

/** Type names are free text; component names allow only some characters. */
function componentName(name: string): string {
  return `NewJob.${name.replaceAll(/[^\w.-]/g, '_')}`
}

interface Optional {
  readonly optional: SchemaOrReference
}

export function optional(schema: SchemaOrReference): Optional {
  return { optional: schema }
}

export function object(
  fields: Readonly<Record<string, SchemaOrReference | Optional>>,
): OpenApiSchema {
  const entries = Object.entries(fields)
  return {
    type: 'object',
    properties: Object.fromEntries(
      entries.map(([name, field]) => [name, 'optional' in field ? field.optional : field]),
    ),
    required: entries.filter(([, field]) => !('optional' in field)).map(([name]) => name),
  }
}
