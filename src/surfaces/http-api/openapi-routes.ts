/** GET /openapi.json: what is there, made from the routes themselves and from the app's contracts. */
import type { Hono } from 'hono'
import { describeRoute, generateSpecs } from 'hono-openapi'
import { version } from '../../version.ts'
import type { ApiEnv } from './api-env.ts'
import { isTrusted } from './caller.ts'
import type { JobsContext } from './jobs-context.ts'
import { alarmSchemas } from './openapi-alarms.ts'
import { inboxSchemas } from './openapi-inbox.ts'
import { metricSchemas } from './openapi-metrics.ts'
import { operations } from './openapi-operations.ts'
import { apiSchemas, enqueueSchemas } from './openapi-schemas.ts'

/** @param context of the app that is served, if one is */
export function openApiRoutes(api: Hono<ApiEnv>, context: JobsContext | undefined): void {
  // Made when first asked for, once for users and once for those who may enqueue everywhere.
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
          'Jobs: take on, follow, cancel, retry. Kill switches: set, lift. Inboxes: claim, resolve.',
      },
      ...(settings?.auth !== 'none' && { security: [{ apiKey: [] }, { bearer: [] }] }),
      components: {
        schemas: {
          ...apiSchemas,
          ...inboxSchemas,
          ...alarmSchemas,
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
