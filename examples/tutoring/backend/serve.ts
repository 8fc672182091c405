/** The API on this machine: what Lambda and the gateway are on AWS. */
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { serve } from '@hono/node-server'
import { createApi } from './api/create-api.ts'
import { openBackend } from './open-backend.ts'

const backend = openBackend()
const { fetch } = createApi(backend)
const server = serve({ fetch, hostname: '127.0.0.1', port: backend.environment.PORT })
await once(server, 'listening')
// A server that listens on a port has such an address.
const { port } = server.address() as AddressInfo
console.log(`api http://127.0.0.1:${port}`)

await Promise.race([once(process, 'SIGTERM'), once(process, 'SIGINT')])
server.close()
if ('closeAllConnections' in server) server.closeAllConnections()
await once(server, 'close')
backend[Symbol.dispose]()
