/** Serves the API on this machine, in place of Lambda and the gateway. */
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { serve } from '@hono/node-server'
import { createApi } from './api/create-api.ts'
import { openBackend } from './open-backend.ts'

const backend = openBackend()
const { fetch } = createApi(backend)
const server = serve({ fetch, hostname: '127.0.0.1', port: backend.environment.PORT })
await once(server, 'listening')
// The address of a listening TCP server has this type.
const { port } = server.address() as AddressInfo
console.log(`api http://127.0.0.1:${port}`)

await Promise.race([once(process, 'SIGTERM'), once(process, 'SIGINT')])
server.close()
if ('closeAllConnections' in server) server.closeAllConnections()
await once(server, 'close')
backend[Symbol.dispose]()
