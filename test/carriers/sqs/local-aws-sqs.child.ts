/** Starts local-aws-sqs, an SQS server that is not ours, and prints its address. */
import { createSqsServer } from 'local-aws-sqs'
import { freePort } from '../../services/free-port.ts'

const port = await freePort()
await createSqsServer({ port, hostname: '127.0.0.1', emulateQueueCreationLifecycle: false })
process.stdout.write(`listening on http://127.0.0.1:${port}\n`)
