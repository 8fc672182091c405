/** Kill switches that the environment of a server has on, for AWS clients that receive from it. */
import assert from 'node:assert/strict'
import { SQS } from '@aws-sdk/client-sqs'
import { describe, onTestFinished, test, vi } from 'vitest'
import { openBackend } from '../../../src/app/open-backend.ts'
import { defineApp, open, queue } from '../../../src/index.ts'
import { serve } from '../../../src/server.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'

const tutor = defineApp('tutor', {
  queues: { classify: queue({ obeys: 'LLM_PAUSED' }), mail: queue() },
})

async function freshData(): Promise<string> {
  const folder = await temporaryFolder('held-receives')
  onTestFinished(async () => {
    vi.unstubAllEnvs()
    await folder.remove()
  })
  return folder.file('data')
}

async function clientOf(data: string): Promise<SQS> {
  const server = await serve({ port: 0, data })
  const credentials = { accessKeyId: 'test', secretAccessKey: 'test' }
  const client = new SQS({ endpoint: server.url, region: 'us-east-1', credentials })
  onTestFinished(async () => {
    client.destroy()
    await server.stop()
  })
  return client
}

async function bodies(client: SQS, QueueUrl: string): Promise<readonly string[]> {
  const { Messages = [] } = await client.receiveMessage({ QueueUrl, VisibilityTimeout: 0 })
  return Messages.map(({ Body = '' }) => Body)
}

describe('a kill switch in the environment of a server', () => {
  test('holds what obeys it, for those who receive from this server alone', async () => {
    const data = await freshData()
    const mill = await open(tutor, { data })
    onTestFinished(() => mill.close())
    vi.stubEnv('LLM_PAUSED', 'true')
    const held = await clientOf(data)
    vi.stubEnv('LLM_PAUSED', 'false')
    const free = await clientOf(data)
    await held.sendMessage({ QueueUrl: 'tutor-dev-classify', MessageBody: 'a question' })
    await held.sendMessage({ QueueUrl: 'tutor-dev-mail', MessageBody: 'a letter' })
    assert.deepEqual(await bodies(held, 'tutor-dev-classify'), [])
    assert.deepEqual(await bodies(held, 'tutor-dev-mail'), ['a letter'])
    assert.deepEqual(await bodies(free, 'tutor-dev-classify'), ['a question'])
  })

  test('keeps the server from starting when it means neither on nor off', async () => {
    const data = await freshData()
    await using store = await openBackend({ store: data, create: true })
    const obeys = { queue: ['LLM_PAUSED'], types: {} }
    await store.backend.createQueue({ queue: 'classify', settings: { obeys } })
    vi.stubEnv('LLM_PAUSED', 'ture')
    const starting = serve({ port: 0, data })
    await assert.rejects(starting, { code: 'invalid_argument', message: /^LLM_PAUSED: got 'ture'/ })
  })

  test('holds a program that receives by hand as well', async () => {
    const data = await freshData()
    vi.stubEnv('LLM_PAUSED', '1')
    const mill = await open(tutor, { data })
    onTestFinished(() => mill.close())
    await mill.queues.classify.send('a question')
    await mill.queues.mail.send('a letter')
    assert.deepEqual(await mill.queues.classify.receive(), [])
    assert.equal((await mill.queues.mail.receive()).length, 1)
    assert.equal((await mill.queues.classify.statistics()).ready, 1)
  })
})
