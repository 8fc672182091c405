/** Regions and accounts: the same name in two places is two queues, and URLs are the client's own. */
import assert from 'node:assert/strict'
import { request } from 'node:http'
import { describe, test } from 'vitest'
import { rawWire, signedBy } from './raw-wire.ts'

const wire = rawWire({ region: 'eu-central-1', account: '111111111111' })

const inRegion = (region: string) => signedBy('test', region)

describe('the place of a queue', () => {
  test('is the home of the server when a request names none', async () => {
    const QueueUrl = await wire.create('at-home')
    assert.equal(QueueUrl, `${wire.url}/111111111111/at-home`)
    const { body } = await wire.json('GetQueueAttributes', {
      QueueUrl,
      AttributeNames: ['QueueArn'],
    })
    assert.equal(body.Attributes.QueueArn, 'arn:aws:sqs:eu-central-1:111111111111:at-home')
  })

  test('is the region of the credentials: same name, two queues', async () => {
    const arns = []
    for (const region of ['eu-central-1', 'us-west-1', 'eu-north-1']) {
      const QueueUrl = await wire.create('everywhere', {}, inRegion(region))
      await wire.json('SendMessage', { QueueUrl, MessageBody: region }, inRegion(region))
      const asked = { QueueUrl, AttributeNames: ['QueueArn'] }
      const { body } = await wire.json('GetQueueAttributes', asked, inRegion(region))
      arns.push(body.Attributes.QueueArn)
      const received = await wire.json('ReceiveMessage', { QueueUrl }, inRegion(region))
      assert.deepEqual(
        received.body.Messages.map(({ Body }: { Body: string }) => Body),
        [region],
      )
    }
    assert.deepEqual(arns, [
      'arn:aws:sqs:eu-central-1:111111111111:everywhere',
      'arn:aws:sqs:us-west-1:111111111111:everywhere',
      'arn:aws:sqs:eu-north-1:111111111111:everywhere',
    ])
  })

  test('is in the URL: two regions have two, and each reaches its queue from everywhere', async () => {
    const regions = ['eu-central-1', 'us-west-2', 'sa-east-1']
    const urls = new Map<string, string>()
    for (const region of regions) urls.set(region, await wire.create('apart', {}, inRegion(region)))
    assert.equal(urls.get('eu-central-1'), `${wire.url}/111111111111/apart`)
    assert.equal(urls.get('us-west-2'), `${wire.url}/queue/us-west-2/111111111111/apart`)
    for (const [region, QueueUrl] of urls) {
      for (const caller of regions) {
        const asked = { QueueUrl, AttributeNames: ['QueueArn'] }
        const { body } = await wire.json('GetQueueAttributes', asked, inRegion(caller))
        assert.equal(body.Attributes?.QueueArn, `arn:aws:sqs:${region}:111111111111:apart`)
        const path = `${new URL(QueueUrl).pathname}?Action=GetQueueAttributes&AttributeName=QueueArn`
        const onPath = await wire.fetch(path, { headers: inRegion(caller) })
        assert.match(onPath.text, new RegExp(`:${region}:111111111111:apart<`))
      }
      const named = await wire.json('GetQueueUrl', { QueueName: 'apart' }, inRegion(region))
      assert.equal(named.body.QueueUrl, QueueUrl)
    }
  })

  test('is not in the URL where the host says it', async () => {
    await wire.create('by-host', {}, inRegion('eu-west-2'))
    await wire.create('by-host')
    const host = 'sqs.eu-west-2.localhost.localstack.cloud:4566'
    const path = '/?Action=GetQueueUrl&QueueName=by-host'
    const there = await getWithHost(host, path, inRegion('eu-west-2'))
    assert.ok(there.includes(`<QueueUrl>http://${host}/111111111111/by-host</QueueUrl>`), there)
    const home = await getWithHost(host, path)
    const url = `http://${host}/queue/eu-central-1/111111111111/by-host`
    assert.ok(home.includes(`<QueueUrl>${url}</QueueUrl>`), home)
  })

  test('keeps regions apart in ListQueues', async () => {
    await wire.create('listed-at-home')
    await wire.create('listed-away', {}, inRegion('ap-south-1'))
    const home = await wire.json('ListQueues', { QueueNamePrefix: 'listed' })
    assert.deepEqual(home.body.QueueUrls, [`${wire.url}/111111111111/listed-at-home`])
    const away = await wire.json('ListQueues', {}, inRegion('ap-south-1'))
    assert.deepEqual(away.body.QueueUrls, [`${wire.url}/queue/ap-south-1/111111111111/listed-away`])
    const prefix = { QueueNamePrefix: 'listed-at' }
    assert.deepEqual((await wire.json('ListQueues', prefix, inRegion('ap-south-1'))).body, {})
  })

  test('is the account that an access key of twelve digits names', async () => {
    const QueueUrl = await wire.create('owned', {}, signedBy('222222222222', 'eu-central-1'))
    assert.equal(QueueUrl, `${wire.url}/222222222222/owned`)
    assert.equal((await wire.json('GetQueueUrl', { QueueName: 'owned' })).status, 400)
    const owner = { QueueName: 'owned', QueueOwnerAWSAccountId: '222222222222' }
    assert.equal((await wire.json('GetQueueUrl', owner)).body.QueueUrl, QueueUrl)
    // The account of the URL counts, not that of the caller.
    assert.equal((await wire.json('SendMessage', { QueueUrl, MessageBody: 'x' })).status, 200)
  })

  test('is found by each form of URL that clients of emulators have', async () => {
    await wire.create('shaped', {}, inRegion('eu-west-1'))
    for (const QueueUrl of [
      'http://sqs.eu-west-1.localhost.localstack.cloud:4566/111111111111/shaped',
      'http://eu-west-1.queue.localhost.localstack.cloud:4566/111111111111/shaped',
      'http://localhost:4566/queue/eu-west-1/111111111111/shaped',
      'https://sqs.eu-west-1.amazonaws.com/111111111111/shaped',
    ]) {
      const { status, text } = await wire.json('SendMessage', { QueueUrl, MessageBody: 'x' })
      assert.equal(status, 200, text)
    }
    const plain = { QueueUrl: 'http://localhost:4566/111111111111/shaped' }
    const counted = { ...plain, AttributeNames: ['ApproximateNumberOfMessages'] }
    const { body } = await wire.json('GetQueueAttributes', counted, inRegion('eu-west-1'))
    assert.equal(body.Attributes.ApproximateNumberOfMessages, '4')
    assert.equal((await wire.json('ListQueueTags', plain)).status, 400)
  })

  test('is never smuggled in with the name', async () => {
    const theirs = signedBy('333333333333', 'eu-central-1')
    await wire.create('private', {}, theirs)
    const name = 'eu-central-1:333333333333:private'
    for (const QueueUrl of [
      `${wire.url}/111111111111/${name}`,
      `${wire.url}/queue/eu-central-1/111111111111/${name}`,
      `/111111111111/${name}`,
    ]) {
      const { status, body } = await wire.json('SendMessage', { QueueUrl, MessageBody: 'x' })
      assert.equal(status, 400)
      assert.equal(body.__type, 'com.amazonaws.sqs#QueueDoesNotExist')
    }
    const path = `/111111111111/${name}?Action=ReceiveMessage`
    assert.match((await wire.fetch(path)).text, /NonExistentQueue/)
    const { body } = await wire.json('GetQueueUrl', { QueueName: name })
    assert.equal(body.__type, 'com.amazonaws.sqs#QueueDoesNotExist')
  })

  test('is not told by the name of a server that begins with sqs', async () => {
    await wire.create('reached-by-name')
    for (const host of ['sqs.example.com', 'sqs.internal.example.com', 'my-school.queue.local']) {
      const QueueUrl = `http://${host}/111111111111/reached-by-name`
      const { status, text } = await wire.json('SendMessage', { QueueUrl, MessageBody: 'x' })
      assert.equal(status, 200, text)
    }
  })

  test('is in the host of a request to the path of a queue', async () => {
    await wire.create('hosted', {}, inRegion('eu-west-3'))
    const host = 'sqs.eu-west-3.localhost.localstack.cloud:4566'
    const path = '/111111111111/hosted?Action=GetQueueAttributes&AttributeName.1=QueueArn'
    assert.match(await getWithHost(host, path), /arn:aws:sqs:eu-west-3:111111111111:hosted/)
    assert.match(await getWithHost('localhost', path), /NonExistentQueue/)
  })
})

describe('the URL of a queue', () => {
  test('begins with the host by which the client knows the server', async () => {
    await wire.create('named')
    const path = '/?Action=GetQueueUrl&QueueName=named'
    for (const host of ['localhost:4566', 'localhost.localstack.cloud:80', '127.0.0.1:1']) {
      const text = await getWithHost(host, path)
      assert.ok(text.includes(`<QueueUrl>http://${host}/111111111111/named</QueueUrl>`), text)
    }
  })

  test('has the port of the server where the client leaves it out, and no proxy is between', async () => {
    await wire.create('portless')
    const path = '/?Action=GetQueueUrl&QueueName=portless'
    for (const host of ['localhost', '127.0.0.1', '[::1]']) {
      const url = `http://${host}:${wire.server.port}/111111111111/portless`
      const text = await getWithHost(host, path)
      assert.ok(text.includes(`<QueueUrl>${url}</QueueUrl>`), text)
    }
    const proxied = await getWithHost('localhost', path, { 'x-forwarded-proto': 'https' })
    assert.ok(proxied.includes('<QueueUrl>https://localhost/111111111111/portless</QueueUrl>'))
  })

  test('is https behind a proxy that says so', async () => {
    await wire.create('proxied')
    const headers = { 'x-forwarded-proto': 'https' }
    const { body } = await wire.json('GetQueueUrl', { QueueName: 'proxied' }, headers)
    assert.equal(body.QueueUrl, `${wire.url.replace('http:', 'https:')}/111111111111/proxied`)
  })
})

/** `fetch` does not let a program choose its Host. */
function getWithHost(
  host: string,
  path: string,
  more: Readonly<Record<string, string>> = {},
): Promise<string> {
  return new Promise((resolve, reject) => {
    const options = { host: '127.0.0.1', port: wire.server.port, path, headers: { host, ...more } }
    request(options, async (response) => {
      let text = ''
      for await (const chunk of response) text += chunk
      resolve(text)
    })
      .on('error', reject)
      .end()
  })
}
