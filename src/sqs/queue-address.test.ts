import assert from 'node:assert/strict'
import { describe, test } from 'vitest'
import {
  addressOf,
  defaultHome,
  formatArn,
  formatUrl,
  namespaceOf,
  parseArn,
  parseQueuePath,
  parseQueueUrl,
  regionOfHost,
  storeNameOf,
} from './queue-address.ts'

const home = defaultHome
const orders = { ...home, name: 'orders' }
const away = { region: 'eu-west-1', account: '123456789012', name: 'orders.fifo' }

describe('the name of a queue in the store', () => {
  test('is its own name at home, and has its place in front elsewhere', () => {
    assert.equal(storeNameOf(orders, home), 'orders')
    assert.equal(storeNameOf(away, home), 'eu-west-1:123456789012:orders.fifo')
    assert.equal(namespaceOf(away, home), 'eu-west-1:123456789012:')
    assert.equal(namespaceOf(away, away), '')
  })

  test('leads back to the queue', () => {
    for (const address of [orders, away]) {
      assert.deepEqual(addressOf(storeNameOf(address, home), home), address)
    }
  })
})

describe('the ARN of a queue', () => {
  test('leads back to the queue', () => {
    assert.equal(formatArn(orders), 'arn:aws:sqs:us-east-1:000000000000:orders')
    for (const address of [orders, away]) assert.deepEqual(parseArn(formatArn(address)), address)
    assert.deepEqual(parseArn('arn:aws-cn:sqs:eu-west-1:123456789012:orders.fifo'), away)
  })

  test.each([
    '',
    'orders',
    'arn:aws:sns:us-east-1:000000000000:orders',
    'arn:aws:sqs:us-east-1:12:orders',
    'arn:aws:sqs:us-east-1:000000000000:',
    'arn:aws:sqs:us-east-1:000000000000:a/b',
    'arn:aws:sqs:us-east-1:000000000000:orders:more',
  ])('is not %j', (text) => assert.equal(parseArn(text), undefined))
})

describe('the URL of a queue', () => {
  test('begins with what the client calls the server', () => {
    const origin = 'https://queues.example:8443'
    assert.equal(formatUrl(origin, away, away), `${origin}/123456789012/orders.fifo`)
  })

  test('names the region, unless it is that of the server or of the host', () => {
    const origin = 'http://localhost:4566'
    const named = `/queue/${away.region}/123456789012/orders.fifo`
    assert.equal(formatUrl(origin, away, defaultHome), origin + named)
    const there = `http://sqs.${away.region}.localhost:4566`
    assert.equal(formatUrl(there, away, defaultHome), `${there}/123456789012/orders.fifo`)
    const elsewhere = 'http://sqs.sa-east-1.localhost:4566'
    assert.equal(formatUrl(elsewhere, away, away), elsewhere + named)
  })

  test.each([
    ['http://localhost:4566/000000000000/orders', { account: '000000000000', name: 'orders' }],
    ['http://aws-local:1/000000000000/orders/', { account: '000000000000', name: 'orders' }],
    [
      'http://sqs.eu-west-1.localhost.localstack.cloud:4566/000000000000/orders',
      { region: 'eu-west-1', account: '000000000000', name: 'orders' },
    ],
    [
      'https://eu-west-1.queue.localhost.localstack.cloud/000000000000/orders',
      { region: 'eu-west-1', account: '000000000000', name: 'orders' },
    ],
    [
      'http://localhost:4566/queue/eu-west-1/123456789012/orders.fifo',
      { region: 'eu-west-1', account: '123456789012', name: 'orders.fifo' },
    ],
    [
      'https://sqs.us-east-2.amazonaws.com/123456789012/orders?x=1',
      { region: 'us-east-2', account: '123456789012', name: 'orders' },
    ],
    ['/000000000000/orders', { account: '000000000000', name: 'orders' }],
    ['orders.fifo', { name: 'orders.fifo' }],
  ])('%s names a queue', (url, reference) => assert.deepEqual(parseQueueUrl(url), reference))

  test.each([
    '',
    'http://localhost:4566',
    'http://localhost:4566/',
    'http://localhost:4566/orders',
    'http://localhost:4566/12/orders',
    'http://localhost:4566/000000000000/a/b',
    'two words',
  ])('%j names none', (url) => assert.equal(parseQueueUrl(url), undefined))

  test('has a path that names the region when its host does not', () => {
    assert.deepEqual(parseQueuePath('/queue/eu-west-1/123456789012/orders'), {
      region: 'eu-west-1',
      account: '123456789012',
      name: 'orders',
    })
    assert.equal(parseQueuePath('/jobs'), undefined)
    assert.equal(regionOfHost('SQS.eu-west-1.example.com'), 'eu-west-1')
    assert.equal(regionOfHost('us-gov-west-1.queue.example.com'), 'us-gov-west-1')
    assert.equal(regionOfHost('queue.example.com'), undefined)
    assert.equal(regionOfHost('sqs.example.com'), undefined)
  })
})
