/** The OpenAPI description of the inbox routes. */
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

export type InboxOperationName =
  | 'list'
  | 'read'
  | 'claim'
  | 'renew'
  | 'note'
  | 'resolve'
  | 'release'

const queue = pathParameter('queue', 'The key of the queue in the app, or its name.')
const id = pathParameter('id', 'The id of the message.')

const forOperators: readonly ProblemCode[] = [
  ...guarded,
  'forbidden',
  'invalid_request',
  'not_found',
]

/** An operation that only the holder of a claim can use. */
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

const shown = { 200: answer('The item in its present state.', 'InboxItem') }

export const inboxOperations: Readonly<Record<InboxOperationName, DescribeRouteOptions>> = {
  list: {
    operationId: 'listInbox',
    summary: 'List waiting and claimed items, oldest first',
    parameters: [
      queue,
      query('tab', { type: 'string', enum: [...inboxTabs], default: 'all' }),
      query('by', { type: 'string', description: 'The person for the tab `mine`. Admins only.' }),
      ...onePage,
    ],
    responses: { 200: answer('A page of items.', 'InboxPage'), ...refusals(...forOperators) },
  },
  read: {
    operationId: 'readInboxItem',
    summary: 'Read an item and its history',
    parameters: [queue, id],
    responses: {
      200: answer(
        'The item and its history. The item is null after it was resolved.',
        'InboxEntry',
      ),
      ...refusals(...forOperators, 'item_not_found'),
    },
  },
  claim: {
    operationId: 'claimInboxItem',
    summary: 'Claim an item, by default the oldest one that is free',
    parameters: [queue],
    requestBody: jsonBody('ClaimItem'),
    responses: {
      200: answer('The claimed item. Others cannot claim it until the claim ends.', 'InboxItem'),
      204: { description: 'No item is waiting.' },
      ...refusals(...forOperators, ...ofBodies, 'item_not_found', 'item_taken', 'item_not_ready'),
    },
  },
  renew: byHolder({
    operationId: 'renewInboxItem',
    summary: 'Extend a claim',
    body: 'RenewItem',
    done: shown,
  }),
  note: {
    operationId: 'noteOnInboxItem',
    summary: 'Add a note, with or without a claim',
    parameters: [queue, id],
    requestBody: jsonBody('NoteItem'),
    responses: { ...shown, ...refusals(...forOperators, ...ofBodies, 'item_not_found') },
  },
  resolve: byHolder({
    operationId: 'resolveInboxItem',
    summary: 'Resolve an item and remove it from the queue',
    body: 'EndItem',
    done: { 204: { description: 'The item is resolved.' } },
  }),
  release: byHolder({
    operationId: 'releaseInboxItem',
    summary: 'Release an item, so that others can claim it',
    body: 'EndItem',
    done: shown,
  }),
}

const text: OpenApiSchema = { type: 'string' }
const textOrNull: OpenApiSchema = { type: ['string', 'null'] }
const time: OpenApiSchema = { type: 'string', format: 'date-time' }
const count: OpenApiSchema = { type: 'integer', minimum: 0 }
const by = optional({ type: 'string', description: 'The person who acts. Admins only.' })
const lasting = optional({ type: 'string', description: "A duration such as '30m'." })
const token = optional({
  type: 'integer',
  description: 'The token of the claim, to be sure that it is still the same claim.',
})
const item = { $ref: '#/components/schemas/InboxItem' } as const

/** A body with these fields and no others. */
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
    state: { type: 'string', enum: ['waiting', 'claimed', 'leased', 'delayed'] },
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
          enum: ['claimed', 'renewed', 'noted', 'resolved', 'released', 'lapsed', 'gone'],
        },
        by: text,
        at: time,
        note: textOrNull,
      }),
    },
  }),
}
