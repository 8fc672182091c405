/** What the OpenAPI document says about inboxes: their routes, and what these take and answer. */
import type { DescribeRouteOptions } from 'hono-openapi'
import { inboxTabs } from '../../operations/inbox-tabs.ts'
import {
  answer,
  guarded,
  jsonBody,
  ofBodies,
  onePage,
  pathParameter,
  query,
  refusals,
} from './openapi-operations.ts'
import { type OpenApiSchema, type OpenApiSchemas, object, optional } from './openapi-schemas.ts'
import type { ProblemCode } from './problems.ts'

export type InboxOperationName = 'list' | 'read' | 'claim' | 'renew' | 'note' | 'resolve' | 'return'

const queue = pathParameter('queue', 'Its key in the app, or its name.')
const id = pathParameter('id', 'The id of the message.')

const forOperators: readonly ProblemCode[] = [
  ...guarded,
  'forbidden',
  'invalid_request',
  'not_found',
]

/** What the holder of a claim does with it. */
function byHolder(operation: {
  readonly operationId: string
  readonly summary: string
  readonly body: string
  readonly done: DescribeRouteOptions['responses']
}): DescribeRouteOptions {
  const { body, done, ...others } = operation
  return {
    ...others,
    parameters: [queue, id],
    requestBody: jsonBody(body),
    responses: {
      ...done,
      ...refusals(...forOperators, ...ofBodies, 'item_not_found', 'claim_not_yours', 'claim_over'),
    },
  }
}

const shown = { 200: answer('The item as it is now.', 'InboxItem') }

export const inboxOperations: Readonly<Record<InboxOperationName, DescribeRouteOptions>> = {
  list: {
    operationId: 'listInbox',
    summary: 'What waits for people, or is in their hands, oldest first',
    parameters: [
      queue,
      query('tab', { type: 'string', enum: [...inboxTabs], default: 'all' }),
      query('by', { type: 'string', description: 'Whose claims are `mine`; for admins.' }),
      ...onePage,
    ],
    responses: { 200: answer('A page of items.', 'InboxPage'), ...refusals(...forOperators) },
  },
  read: {
    operationId: 'readInboxItem',
    summary: 'An item, and what people did with it',
    parameters: [queue, id],
    responses: {
      200: answer('The item; null once it is resolved, while its history is kept.', 'InboxEntry'),
      ...refusals(...forOperators, 'item_not_found'),
    },
  },
  claim: {
    operationId: 'claimInboxItem',
    summary: 'Take an item, or the one that has waited longest',
    parameters: [queue],
    requestBody: jsonBody('ClaimItem'),
    responses: {
      200: answer('The item, which nobody else gets until the claim ends.', 'InboxItem'),
      204: { description: 'Nothing waits.' },
      ...refusals(...forOperators, ...ofBodies, 'item_not_found', 'item_taken', 'item_not_ready'),
    },
  },
  renew: byHolder({
    operationId: 'renewInboxItem',
    summary: 'Keep an item longer',
    body: 'RenewItem',
    done: shown,
  }),
  note: {
    operationId: 'noteOnInboxItem',
    summary: 'Write something down, with or without a claim',
    parameters: [queue, id],
    requestBody: jsonBody('NoteItem'),
    responses: { ...shown, ...refusals(...forOperators, ...ofBodies, 'item_not_found') },
  },
  resolve: byHolder({
    operationId: 'resolveInboxItem',
    summary: 'Say that an item is done; it leaves the queue',
    body: 'EndItem',
    done: { 204: { description: 'It is done.' } },
  }),
  return: byHolder({
    operationId: 'returnInboxItem',
    summary: 'Put an item back to those that wait',
    body: 'EndItem',
    done: shown,
  }),
}

const text: OpenApiSchema = { type: 'string' }
const textOrNull: OpenApiSchema = { type: ['string', 'null'] }
const time: OpenApiSchema = { type: 'string', format: 'date-time' }
const count: OpenApiSchema = { type: 'integer', minimum: 0 }
const by = optional({ type: 'string', description: 'The person; for admins.' })
const lasting = optional({ type: 'string', description: "Such as '30m'." })
const token = optional({ type: 'integer', description: 'The claim that is meant.' })
const item = { $ref: '#/components/schemas/InboxItem' } as const

/** What fields a body may have, and no others. */
function body(fields: Parameters<typeof object>[0]): OpenApiSchema {
  return { ...object(fields), additionalProperties: false }
}

export const inboxSchemas: OpenApiSchemas = {
  ClaimItem: body({ by, id: optional(text), for: lasting }),
  RenewItem: body({ by, for: lasting, token }),
  NoteItem: body({ by, note: text }),
  EndItem: body({ by, note: optional(text), token }),
  InboxItem: object({
    id: text,
    state: { type: 'string', enum: ['waiting', 'claimed', 'elsewhere', 'delayed'] },
    message: {},
    attributes: {
      type: 'object',
      additionalProperties: object({ type: text, value: text }),
    },
    group: textOrNull,
    sent_at: time,
    receive_count: count,
    dead_letter: {
      anyOf: [{ type: 'null' }, object({ source: text, at: time, reason: textOrNull })],
    },
    claim: {
      anyOf: [
        { type: 'null' },
        object({ by: text, at: time, until: time, token: { type: 'integer' } }),
      ],
    },
    notes: count,
  }),
  InboxPage: object({
    items: { type: 'array', items: item },
    counts: object({ mine: count, unassigned: count, all: count }),
    next: textOrNull,
  }),
  InboxEntry: object({
    item: { anyOf: [{ type: 'null' }, item] },
    history: {
      type: 'array',
      items: object({
        event: {
          type: 'string',
          enum: ['claimed', 'renewed', 'noted', 'resolved', 'returned', 'lapsed', 'gone'],
        },
        by: text,
        at: time,
        note: textOrNull,
      }),
    },
  }),
}
