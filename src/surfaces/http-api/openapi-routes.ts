/** GET /openapi.json, generated from the routes and from the app's contracts. */
import type { Hono } from 'hono'
import { describeRoute, generateSpecs } from 'hono-openapi'
import { version } from '../../version.ts'
import type { ApiEnv } from './api-env.ts'
import { isTrusted } from './caller.ts'
import type { JobsContext } from './jobs-context.ts'
import { alarmSchemas } from './openapi-alarms.ts'
import { budgetSchemas } from './openapi-budgets.ts'
import { inboxSchemas } from './openapi-inbox.ts'
import { metricSchemas } from './openapi-metrics.ts'
import { operations } from './openapi-operations.ts'
import { reportSchemas } from './openapi-reports.ts'
import { apiSchemas, enqueueSchemas } from './openapi-schemas.ts'

/** @param context of the served app, if any */
export function openApiRoutes(api: Hono<ApiEnv>, context: JobsContext | undefined): void {
  // Created on first use: one document for users, and one for callers who may enqueue to all queues.
  const documents = new Map<boolean, Promise<object>>()
  api.get('/openapi.json', describeRoute(operations.document), async (c) => {
    const forUsers = !isTrusted(c.get('caller'))
    const document = documents.get(forUsers) ?? openApiDocument(api, context, forUsers)
    documents.set(forUsers, document)
    return c.json(await document)
  })
}

async function openApiDocument(
  api: Hono<ApiEnv>,
  context: JobsContext | undefined,
  forUsers: boolean,
): Promise<object> {
  const { queues = [], settings } = context ?? {}
  const visible = forUsers ? queues.filter(({ key }) => settings?.userQueues.has(key)) : queues
  return generateSpecs(api, {
    excludeStaticFile: false,
    documentation: {
      info: {
        title: 'Millrace',
        version,
        description:
          'Enqueue, follow, cancel and retry jobs, and report on those that you run. Set and lift switches. Read and reset budgets. Claim and resolve inbox items.',
      },
      ...(settings?.auth !== 'none' && { security: [{ apiKey: [] }, { bearer: [] }] }),
      components: {
        schemas: {
          ...apiSchemas,
          ...reportSchemas,
          ...inboxSchemas,
          ...alarmSchemas,
          ...budgetSchemas,
          ...metricSchemas,
          ...(await enqueueSchemas(visible, forUsers)),
        },
        securitySchemes: {
          apiKey: { type: 'apiKey', in: 'header', name: 'X-API-Key' },
          bearer: { type: 'http', scheme: 'bearer', bearerFormat: 'JWT or API key' },
        },
      },
    },
  })
}
