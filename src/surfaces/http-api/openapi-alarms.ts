/** The OpenAPI description of the alarm routes. */
import type { DescribeRouteOptions } from 'hono-openapi'
import { alarmSeverities, alarmStates } from '../../core/alarm-rule.ts'
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

export type AlarmOperationName = 'list' | 'read' | 'history' | 'test'

const name = pathParameter('name', 'The name of the alarm.')
const forOperators: readonly ProblemCode[] = [...guarded, 'forbidden']

export const alarmOperations: Readonly<Record<AlarmOperationName, DescribeRouteOptions>> = {
  list: {
    operationId: 'listAlarms',
    summary: 'List alarms and their states, by name',
    parameters: [query('state', { type: 'string', enum: [...alarmStates] })],
    responses: {
      200: answer('The alarms.', 'Alarms'),
      ...refusals(...forOperators, 'invalid_request'),
    },
  },
  read: {
    operationId: 'readAlarm',
    summary: 'Read an alarm',
    parameters: [name],
    responses: { 200: answer('The alarm.', 'Alarm'), ...refusals(...forOperators, 'not_found') },
  },
  history: {
    operationId: 'listAlarmChanges',
    summary: 'List the state changes of an alarm, newest first',
    description: 'Includes alarms that are no longer declared.',
    parameters: [name, ...onePage],
    responses: {
      200: answer('A page of state changes.', 'AlarmChanges'),
      ...refusals(...forOperators, 'invalid_request', 'not_found'),
    },
  },
  test: {
    operationId: 'testAlarm',
    summary: 'Set the state of an alarm until its next evaluation',
    description: 'Runs the actions of the alarm, as a real change of state would.',
    parameters: [name],
    requestBody: jsonBody('TestAlarm'),
    responses: {
      200: answer('The alarm in its new state.', 'Alarm'),
      ...refusals(...forOperators, 'invalid_request', 'not_found', ...ofBodies),
    },
  },
}

const text: OpenApiSchema = { type: 'string' }
const textOrNull: OpenApiSchema = { type: ['string', 'null'] }
const time: OpenApiSchema = { type: 'string', format: 'date-time' }
const timeOrNull: OpenApiSchema = { type: ['string', 'null'], format: 'date-time' }
const count: OpenApiSchema = { type: 'integer', minimum: 1 }
const state: OpenApiSchema = { type: 'string', enum: [...alarmStates] }

export const alarmSchemas: OpenApiSchemas = {
  Alarm: object({
    name: text,
    state,
    severity: { type: 'string', enum: [...alarmSeverities] },
    reason: text,
    since: time,
    evaluated_at: timeOrNull,
    owner: text,
    description: textOrNull,
    namespace: text,
    metric: text,
    of: text,
    statistic: text,
    period_seconds: count,
    evaluation_periods: count,
    datapoints_to_alarm: count,
    threshold: { type: 'number' },
    comparison: text,
    treat_missing_data: text,
    condition: text,
    actions: {
      type: 'array',
      items: object({
        kind: { type: 'string', enum: ['webhook', 'queue'] },
        target: text,
        on: { type: 'array', items: state },
      }),
    },
  }),
  Alarms: object({
    alarms: { type: 'array', items: { $ref: '#/components/schemas/Alarm' } },
  }),
  AlarmChanges: object({
    changes: {
      type: 'array',
      items: object({ alarm: text, from: state, to: state, reason: text, at: time }),
    },
    next: textOrNull,
  }),
  TestAlarm: { ...object({ state, reason: optional(text) }), additionalProperties: false },
}
