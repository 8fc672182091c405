/** Kill switches that the environment of `millrace dev` has on. */
import assert from 'node:assert/strict'
import { GetQueueAttributesCommand, ReceiveMessageCommand } from '@aws-sdk/client-sqs'
import { describe, test } from 'vitest'
import { type DevScene, type DevSceneOptions, devScene, template } from './dev-scene.ts'

const millrace = new URL('../../../src/index.ts', import.meta.url).href

/** What the template cannot say of its queues. */
const app = (orders: string): string => `
import { defineApp, queue } from '${millrace}'
export const shop = defineApp('shop', { queues: { orders: queue({ name: 'orders', ${orders} }) } })
`

const twoQueues = template(`        More: { Type: SQS, Properties: { Queue: !GetAtt More.Arn } }
  More: { Type: AWS::SQS::Queue, Properties: { QueueName: more } }
`)

const options = (orders: string, environment: DevSceneOptions['environment']): DevSceneOptions => ({
  files: { 'app.mjs': app(orders) },
  declarations: ['template.yaml', 'app.mjs'],
  environment: { PATH: process.env['PATH'], ...environment },
})

async function received({ client, urlOf }: DevScene, queue: string): Promise<readonly string[]> {
  const command = new ReceiveMessageCommand({ QueueUrl: urlOf(queue), WaitTimeSeconds: 0 })
  const { Messages = [] } = await client.send(command)
  return Messages.map(({ Body = '' }) => Body)
}

async function waiting({ client, urlOf }: DevScene, queue: string): Promise<string | undefined> {
  const { Attributes = {} } = await client.send(
    new GetQueueAttributesCommand({ QueueUrl: urlOf(queue), AttributeNames: ['All'] }),
  )
  return Attributes['ApproximateNumberOfMessages']
}

describe('a kill switch in the environment of a dev server', () => {
  test('holds what obeys it, for functions and for AWS clients, and nothing else', async () => {
    const on = { LLM_PAUSED: 'true' }
    const scene = await devScene(twoQueues, options("obeys: 'LLM_PAUSED'", on))
    await scene.send('orders', 'held')
    await scene.send('more', 'served')
    assert.match(await scene.line(/^output: first/), / served /)
    assert.deepEqual(await received(scene, 'orders'), [])
    assert.equal(await waiting(scene, 'orders'), '1')
  })

  test('lets everything through when it is off', async () => {
    const off = { LLM_PAUSED: 'false' }
    const scene = await devScene(twoQueues, options("obeys: 'LLM_PAUSED'", off))
    await scene.send('orders', 'served')
    assert.match(await scene.line(/^output: first/), / served /)
  })

  test('holds from the moment on at which a queue obeys it', async () => {
    const scene = await devScene(twoQueues, options('', { LLM_PAUSED: '1' }))
    await scene.send('orders', 'early')
    await scene.line(/^output: first early/)
    await scene.write('app.mjs', app("obeys: 'LLM_PAUSED'"))
    assert.equal(await scene.dev.reload(), true)
    await scene.send('orders', 'held')
    await scene.send('more', 'served')
    assert.match(await scene.line(/^output: first/), / served /)
    assert.equal(await waiting(scene, 'orders'), '1')
  })

  test('is refused when it means neither on nor off, before a queue goes up', async () => {
    const starting = devScene(twoQueues, options("obeys: 'LLM_PAUSED'", { LLM_PAUSED: 'ture' }))
    await assert.rejects(starting, { code: 'invalid_argument', message: /^LLM_PAUSED: got 'ture'/ })
  })
})
