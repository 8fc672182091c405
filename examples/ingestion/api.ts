/** The API process. With the inline runtime it also processes the documents. */
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { serve } from '@hono/node-server'
import { runUntilSignal } from 'millrace'
import { pino } from 'pino'
import { createApi } from './api/create-api.ts'
import { uploadMs } from './api/upload-routes.ts'
import { Callers } from './callers.ts'
import { readEnvironment } from './environment.ts'
import { type Ingestion, keyFor, openIngestion } from './open-ingestion.ts'
import type { Runtime } from './runtime/runtime.ts'
import { workerRuntime } from './runtime/worker-runtime.ts'

export interface RunningApi {
  readonly url: string
  stop(): Promise<void>
}

export async function startApi(
  ingestion: Ingestion,
  options: { readonly uploadBytesMax?: number } = {},
): Promise<RunningApi> {
  const { environment } = ingestion
  const runtime = await runtimeOf(ingestion)
  const api = createApi({
    ...ingestion,
    ...options,
    runtime,
    callers: new Callers(keyFor(environment, 'tokens')),
  })
  const server = serve({
    fetch: api.fetch,
    hostname: '127.0.0.1',
    port: environment.PORT,
    // Node's default limit is five minutes, and an upload may take longer.
    serverOptions: { requestTimeout: uploadMs },
  })
  await once(server, 'listening')
  // The address of a listening TCP server has this type.
  const { port } = server.address() as AddressInfo
  const url = `http://127.0.0.1:${port}`
  ingestion.publicUrl = environment.PUBLIC_URL ?? url
  return {
    url,
    async stop() {
      server.close()
      await once(server, 'close')
      await runtime.stop()
    },
  }
}

/** With workers, the API never loads the processing stages. */
async function runtimeOf(ingestion: Ingestion): Promise<Runtime> {
  if (ingestion.environment.INGESTION_RUNTIME === 'worker') return workerRuntime(ingestion.mill)
  const { inlineRuntime } = await import('./runtime/inline-runtime.ts')
  return inlineRuntime(ingestion)
}

/** Serves until SIGTERM or SIGINT. */
async function main(): Promise<void> {
  await using ingestion = await openIngestion(readEnvironment(), pino({}, pino.destination(2)))
  const api = await startApi(ingestion)
  console.log(`api ${api.url}`)
  await runUntilSignal(ingestion.mill, api)
}

if (process.argv[1] === import.meta.filename) await main()
