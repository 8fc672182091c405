/** Servers on a store in a Postgres database. */
import assert from 'node:assert/strict'
import {
  CreateQueueCommand,
  DeleteMessageCommand,
  GetQueueAttributesCommand,
  ReceiveMessageCommand,
  SendMessageCommand,
  SQSClient,
} from '@aws-sdk/client-sqs'
import { describe, onTestFinished, test, vi } from 'vitest'
import { z } from 'zod'
import { alarm, defineApp, jobs, open, queue } from '../../src/index.ts'
import { postgres } from '../../src/postgres.ts'
import { type RunningServer, type ServeOptions, serve } from '../../src/server.ts'
import { freshDatabase } from '../services/fresh-database.ts'
import { startCli } from '../support/cli-process.ts'

async function served(options: ServeOptions): Promise<RunningServer> {
  const server = await serve({ port: 0, ...options })
  onTestFinished(() => server.stop())
  return server
}

function clientOf({ url }: Pick<RunningServer, 'url'>): SQSClient {
  const credentials = { accessKeyId: 'test', secretAccessKey: 'test' }
  const client = new SQSClient({ endpoint: url, region: 'us-east-1', credentials })
  onTestFinished(() => client.destroy())
  return client
}

const printing = defineApp('printing', {
  queues: { work: jobs({ types: { PRINT: z.string() } }), orders: queue({ deadLetter: {} }) },
  alarms: [alarm.dead('orders').above(0)],
})

describe('servers on one database', () => {
  test('share its queues: a send to one wakes a receive of the other', async () => {
    const { url } = await freshDatabase()
    const [one, other] = [await served({ store: url }), await served({ store: postgres(url) })]
    const [sender, receiver] = [clientOf(one), clientOf(other)]
    const { QueueUrl } = await sender.send(new CreateQueueCommand({ QueueName: 'orders' }))
    const receive = { QueueUrl, WaitTimeSeconds: 20 }
    const waiting = receiver.send(new ReceiveMessageCommand(receive))
    await sender.send(new SendMessageCommand({ QueueUrl, MessageBody: 'across' }))
    const { Messages: [message] = [] } = await waiting
    assert.equal(message?.Body, 'across')
    // A receipt of one server counts at the other.
    const { ReceiptHandle } = message
    await sender.send(new DeleteMessageCommand({ QueueUrl, ReceiptHandle }))
    const { Attributes } = await receiver.send(
      new GetQueueAttributesCommand({ QueueUrl, AttributeNames: ['All'] }),
    )
    assert.equal(Attributes?.['ApproximateNumberOfMessagesNotVisible'], '0')
    assert.equal(Attributes['ApproximateNumberOfMessages'], '0')
  })

  test('serve jobs, metrics and readiness as on the embedded store', async () => {
    const { url: store } = await freshDatabase()
    const server = await served({ store, app: printing })
    assert.equal(server.data, null)
    assert.match(server.place, /^postgres:\/\/127\.0\.0\.1:\d+\/test_\w+, schema millrace$/)
    await using mill = await open(printing, { store, log: false })
    mill.worker({ poll: ['work'], handle: { PRINT: () => undefined } }).start()
    const headers = { 'content-type': 'application/json' }
    const body = JSON.stringify({ type: 'PRINT', payload: 'a page' })
    const enqueued = await fetch(`${server.url}/jobs/work`, { method: 'POST', headers, body })
    assert.equal(enqueued.status, 202)
    const { job_id: id } = (await enqueued.json()) as { readonly job_id: string }
    assert.equal((await mill.jobs.waitFor(id)).status, 'completed')
    assert.equal((await fetch(`${server.url}/readyz`)).status, 200)
    const metrics = await (await fetch(`${server.url}/metrics`)).text()
    assert.match(metrics, /millrace_\w+\{[^}]*queue="printing-dev-work"/)
  })

  test('know the alarms of its apps, in the state that another process gave them', async () => {
    const { url: store } = await freshDatabase()
    const server = await served({ store })
    await using mill = await open(printing, { store, onNotice: () => undefined })
    const [declared] = await mill.alarms.list()
    assert.ok(declared)
    await mill.alarms.test(declared.alarm, { state: 'ALARM', by: 'ann' })
    const response = await fetch(`${server.url}/alarms?state=ALARM`)
    const { alarms } = (await response.json()) as { alarms: readonly { readonly name: string }[] }
    assert.deepEqual(
      alarms.map(({ name }) => name),
      [declared.alarm],
    )
  })

  test('are started by the command, which prints the place and not the password', async () => {
    const { url, name } = await freshDatabase()
    const withPassword = url.replace('postgres@', 'postgres:hunter2@')
    const server = startCli(['serve', '--port', '0'], { MILLRACE_STORE: withPassword })
    onTestFinished(() => server.kill('SIGKILL'))
    const [, address = ''] = await server.output(/listening on (http:\S+)/)
    await server.output(
      new RegExp(`^Store: postgres://127.0.0.1:\\d+/${name}, schema millrace$`, 'm'),
    )
    assert.equal((await fetch(`${address}/readyz`)).status, 200)
    server.kill('SIGTERM')
    const { code, stdout, stderr } = await server.ended
    assert.equal(code, 0, stderr)
    assert.doesNotMatch(stdout + stderr, /hunter2/)
  })

  test('do not start if the database cannot be opened', async () => {
    vi.stubEnv('MILLRACE_STORE', 'postgres://ann:hunter2@127.0.0.1:1/shop')
    onTestFinished(() => void vi.unstubAllEnvs())
    await assert.rejects(serve({ port: 0 }), {
      code: 'store_unreachable',
      message: 'Cannot open postgres://127.0.0.1:1/shop: no server listens there.',
    })
  })
})
