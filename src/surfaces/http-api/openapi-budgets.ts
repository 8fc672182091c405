/** The OpenAPI description of the budget routes. */
import type { DescribeRouteOptions } from 'hono-openapi'
import { limits } from '../../core/limits.ts'
import { switchModes } from '../../operations/switches.ts'
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
import { type OpenApiSchema, type OpenApiSchemas, object } from './openapi-schemas.ts'
import type { ProblemCode } from './problems.ts'

export type BudgetOperationName = 'list' | 'read' | 'resets' | 'reset' | 'spend'

const name = pathParameter('name', 'The name of the budget in its app.')
const ofOne: readonly ProblemCode[] = [...guarded, 'forbidden', 'budget_not_found']

export const budgetOperations: Readonly<Record<BudgetOperationName, DescribeRouteOptions>> = {
  list: {
    operationId: 'listBudgets',
    summary: 'List budgets with their spending, by name',
    responses: { 200: answer('The budgets.', 'Budgets'), ...refusals(...guarded, 'forbidden') },
  },
  read: {
    operationId: 'readBudget',
    summary: 'Read a budget',
    parameters: [name],
    responses: { 200: answer('The budget.', 'Budget'), ...refusals(...ofOne) },
  },
  resets: {
    operationId: 'listBudgetResets',
    summary: 'List who reset a budget and when, newest first',
    parameters: [name, ...onePage],
    responses: {
      200: answer('A page of resets.', 'BudgetResets'),
      ...refusals(...ofOne, 'invalid_request'),
    },
  },
  reset: {
    operationId: 'resetBudget',
    summary: 'Set the spending of the present period to 0',
    description: 'Also lifts the kill switch, if this budget has turned it on.',
    parameters: [name, query('note', { type: 'string', description: 'Why.' })],
    responses: {
      200: answer('The budget after the reset.', 'Budget'),
      ...refusals(...ofOne, 'invalid_request'),
    },
  },
  spend: {
    operationId: 'spendBudget',
    summary: 'Add to the spending of a budget',
    description: 'For admins and services. The call that reaches the limit turns the switch on.',
    parameters: [name],
    requestBody: jsonBody('Spending'),
    responses: {
      200: answer('The budget with the new sum.', 'SpentBudget'),
      ...refusals(...ofOne, 'invalid_request', ...ofBodies),
    },
  },
}

const text: OpenApiSchema = { type: 'string' }
const textOrNull: OpenApiSchema = { type: ['string', 'null'] }
export const amount: OpenApiSchema = {
  type: 'number',
  minimum: limits.budgetAmount.min,
  maximum: limits.budgetAmount.max,
}

const budget = {
  name: text,
  spent: amount,
  limit: amount,
  unit: textOrNull,
  per: { ...textOrNull, description: "The length of a period, such as '1d'." },
  ends_at: { type: ['string', 'null'], format: 'date-time' },
  tripped: { type: 'boolean', description: 'The limit is reached.' },
  trips: { type: 'string', description: 'The name of the kill switch.' },
  mode: { type: 'string', enum: [...switchModes] },
  scope: { type: 'string', description: 'The app and stage that declared it last.' },
} as const satisfies Readonly<Record<string, OpenApiSchema>>

export const budgetSchemas: OpenApiSchemas = {
  Budget: object(budget),
  SpentBudget: object({
    ...budget,
    turned_on: { type: 'boolean', description: 'Whether this call has turned the switch on.' },
  }),
  Budgets: object({
    budgets: { type: 'array', items: { $ref: '#/components/schemas/Budget' } },
  }),
  BudgetResets: object({
    resets: {
      type: 'array',
      items: object({
        at: { type: 'string', format: 'date-time' },
        by: text,
        note: textOrNull,
        spent: amount,
      }),
    },
    next: textOrNull,
  }),
  Spending: { ...object({ amount }), additionalProperties: false },
}
