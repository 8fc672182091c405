/** `millrace dev` with an app beside its templates: the contracts of the app hold for clients and functions. */
import assert from 'node:assert/strict'
import { ReceiveMessageCommand } from '@aws-sdk/client-sqs'
import { describe, test } from 'vitest'
import { openSqlite } from '../../../src/backends/sqlite/index.ts'
import { type DevScene, devScene, template } from './dev-scene.ts'

const millrace = new URL('../../../src/index.ts', import.meta.url).href

/** Takes numbers from this one on. */
const app = (least: number, more = ''): string => `
import { defineApp, queue } from '${millrace}'
const issue = { message: 'no', expected: 'a number from ${least} on' }
const schema = {
  '~standard': {
    version: 1,
    vendor: 'test',
    validate: (value) => (value >= ${least} ? { value } : { issues: [issue] }),
  },
}
export const shop = defineApp('shop', { queues: { orders: queue({ name: 'orders', schema${more} }) } })
`

const withDeadLetters = template().replace(
  'Properties: { QueueName: orders }',
  'Properties: { QueueName: orders, RedrivePolicy: { deadLetterTargetArn: !GetAtt Dead.Arn, maxReceiveCount: 3 } }',
)
const text = `${withDeadLetters}  Dead: { Type: AWS::SQS::Queue, Properties: { QueueName: dead } }\n`

const scene = (code: string): Promise<DevScene> =>
  devScene(text, { files: { 'app.mjs': code }, declarations: ['template.yaml', 'app.mjs'] })

async function received({ client, urlOf }: DevScene, queue: string): Promise<readonly string[]> {
  const request = { QueueUrl: urlOf(queue), WaitTimeSeconds: 20 }
  const { Messages = [] } = await client.send(new ReceiveMessageCommand(request))
  return Messages.map(({ Body = '' }) => Body)
}

describe('contracts of an app in dev', () => {
  test('refuse what a client sends, and what the module says next counts next', async () => {
    const dev = await scene(app(5))
    await assert.rejects(dev.send('orders', '3'), {
      name: 'InvalidMessageContents',
      message: /message: got a number, expected a number from 5 on/,
    })
    await dev.send('orders', '7')
    await dev.line(/first 7/)
    await dev.write('app.mjs', app(2))
    await dev.told(/up/)
    assert.equal(await dev.dev.reload(), true)
    await dev.send('orders', '3')
    await dev.line(/first 3/)
  })

  test('keep a function from what another program has sent', async () => {
    const dev = await scene(app(5))
    const other = await openSqlite({ file: `${dev.dev.data}/millrace.db` })
    await other.send({ queue: 'orders', messages: [{ body: '1' }, { body: '8' }] })
    await other.close()
    assert.match(await dev.line(/first/), /first 8/)
    assert.deepEqual(await received(dev, 'dead'), ['1'])
  })

  test('are not looked at where the queue says so', async () => {
    const dev = await scene(app(5, ', checkOnWire: false'))
    await dev.send('orders', '1')
    await dev.line(/first 1/)
  })
})
