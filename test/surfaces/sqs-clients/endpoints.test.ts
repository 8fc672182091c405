/** How clients find the server and their queues: endpoints, URLs, regions and accounts. */
import assert from 'node:assert/strict'
import { SQS } from '@aws-sdk/client-sqs'
import { afterEach, describe, test, vi } from 'vitest'
import { clientKinds, freshName, newQueue, receiveBodies, send } from './queue-scene.ts'
import { jsonSdk } from './sdk-clients.ts'
import { wireServer } from './wire-server.ts'

const server = wireServer('sqs-endpoints')

describe.concurrent.each(clientKinds)('queue URLs, with $name', (kind) => {
  test.each([
    ['region before the host', (host: string) => `http://sqs.eu-west-1.${host}/000000000000`],
    ['region as a domain', (host: string) => `http://eu-west-1.queue.${host}/000000000000`],
    ['region in the path', (host: string) => `http://${host}/queue/eu-west-1/000000000000`],
    ['no region', (host: string) => `http://${host}/000000000000`],
  ])('LocalStack’s form with %s is understood', async (_what, form) => {
    const client = server.client(kind, { region: 'eu-west-1' })
    const { name, url } = await newQueue(client)
    const written = `${form('localhost.localstack.cloud:4566')}/${name}`
    await send(client, { url: written }, written)
    assert.deepEqual(await receiveBodies(client, { url }), [written])
  })

  test('a region in the URL counts more than that of the client', async () => {
    const here = server.client(kind)
    const there = server.client(kind, { region: 'ap-south-1' })
    const { name, url } = await newQueue(there)
    await send(here, { url: `http://sqs.ap-south-1.anywhere/000000000000/${name}` }, 'from afar')
    assert.deepEqual(await receiveBodies(there, { url }), ['from afar'])
  })
})

describe.concurrent.each(clientKinds)('regions, with $name', (kind) => {
  test('the same name in two regions is two queues', async () => {
    const name = freshName()
    const clients = ['us-west-1', 'eu-north-1'].map((region) => server.client(kind, { region }))
    const urls = await Promise.all(
      clients.map(async (client) => (await newQueue(client, { DelaySeconds: '0' }, name)).url),
    )
    const [west, north] = clients
    const [inWest = '', inNorth = ''] = urls
    assert.ok(west && north)
    assert.notEqual(inWest, inNorth)
    await send(west, { url: inWest }, 'in the west')
    assert.deepEqual(await receiveBodies(west, { url: inNorth }), [])
    // The URL says which queue is meant, whatever the region of the client.
    assert.deepEqual(await receiveBodies(north, { url: inWest }), ['in the west'])
    const { Attributes } = await west.call('GetQueueAttributes', {
      QueueUrl: inNorth,
      AttributeNames: ['QueueArn'],
    })
    assert.deepEqual(Attributes, { QueueArn: `arn:aws:sqs:eu-north-1:000000000000:${name}` })
    // Without a region in it, a URL means the region of the client, unless it is that of a queue at home.
    const short = { url: `${server.url}/000000000000/${name}` }
    await send(north, short, 'in the north')
    assert.deepEqual(await receiveBodies(west, { url: inNorth }), ['in the north'])
  })

  test('lists show the queues of one region', async () => {
    const prefix = freshName('listed')
    const clients = ['sa-east-1', 'ca-central-1'].map((region) => server.client(kind, { region }))
    for (const [index, client] of clients.entries()) {
      await newQueue(client, {}, `${prefix}-${index}`)
    }
    const listed = clients.map((client) => client.call('ListQueues', { QueueNamePrefix: prefix }))
    const names = (await Promise.all(listed)).map(({ QueueUrls = [] }) =>
      QueueUrls.map((url) => url.slice(url.lastIndexOf('/') + 1)),
    )
    assert.deepEqual(names, [[`${prefix}-0`], [`${prefix}-1`]])
  })
})

describe.concurrent.each(clientKinds)('accounts, with $name', (kind) => {
  test('an access key of twelve digits is an account, with queues of its own', async () => {
    const name = freshName()
    const mine = server.client(kind)
    const theirs = server.client(kind, { accessKeyId: '222222222222' })
    const queue = await newQueue(mine, {}, name)
    const other = await newQueue(theirs, {}, name)
    assert.equal(other.url, `${server.url}/222222222222/${name}`)
    await send(mine, queue, 'mine')
    assert.deepEqual(await receiveBodies(theirs, other), [])
    // Whoever has the URL of a queue can use it, as long as nobody has to prove who he is.
    assert.deepEqual(await receiveBodies(theirs, queue), ['mine'])
    const owner = { QueueName: name, QueueOwnerAWSAccountId: '000000000000' }
    assert.deepEqual(await theirs.call('GetQueueUrl', owner), { QueueUrl: queue.url })
    const listed = await theirs.call('ListQueues', { QueueNamePrefix: name })
    assert.deepEqual(listed, { QueueUrls: [other.url] })
  })
})

describe('the current AWS SDK without an endpoint in its code', () => {
  const warnings: string[] = []
  const logger = {
    debug: () => {},
    info: () => {},
    warn: (text: string) => warnings.push(text),
    error: () => {},
  }

  afterEach(() => {
    vi.unstubAllEnvs()
  })

  test.each(['AWS_ENDPOINT_URL_SQS', 'AWS_ENDPOINT_URL'])('takes it from %s', async (variable) => {
    vi.stubEnv(variable, server.url)
    vi.stubEnv('AWS_REGION', 'us-east-1')
    vi.stubEnv('AWS_ACCESS_KEY_ID', 'test')
    vi.stubEnv('AWS_SECRET_ACCESS_KEY', 'test')
    vi.stubEnv('AWS_CONFIG_FILE', '/dev/null')
    const client = new SQS({ logger })
    const QueueName = freshName()
    const { QueueUrl = '' } = await client.createQueue({ QueueName })
    assert.equal(QueueUrl, `${server.url}/000000000000/${QueueName}`)
    await client.sendMessage({ QueueUrl, MessageBody: 'found' })
    // The SDK goes to the host of a queue's URL rather than to its endpoint.
    const elsewhere = QueueUrl.replace('127.0.0.1', 'localhost')
    const { Messages } = await client.receiveMessage({ QueueUrl: elsewhere })
    assert.equal(Messages?.[0]?.Body, 'found')
    assert.match(warnings.pop() ?? '', /using QueueUrl host as endpoint/)
    client.destroy()
  })

  test('gets URLs with the host by which it asks', async () => {
    const endpoint = server.url.replace('127.0.0.1', 'localhost')
    const client = server.client(jsonSdk, { endpoint })
    const { name, url } = await newQueue(client)
    assert.equal(url, `${endpoint}/000000000000/${name}`)
    const { QueueUrls } = await client.call('ListQueues', { QueueNamePrefix: name })
    assert.deepEqual(QueueUrls, [url])
  })

  test('may have a queue’s URL as its endpoint', async () => {
    const client = server.client(jsonSdk)
    const queue = await newQueue(client)
    await send(client, queue, 'on its own path')
    const onPath = server.client(jsonSdk, { endpoint: queue.url })
    assert.deepEqual(await receiveBodies(onPath, queue), ['on its own path'])
  })
})
