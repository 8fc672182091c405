/** Starts fauxqs, an SQS server that is not ours, and prints its address. */
import { startFauxqs } from 'fauxqs'

const server = await startFauxqs({ port: 0, host: '127.0.0.1', logger: false })
process.stdout.write(`listening on http://127.0.0.1:${server.port}\n`)
