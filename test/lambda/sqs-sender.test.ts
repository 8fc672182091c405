/** `sqsSender` with the real SDK against a real server, and with responses that a server rarely gives. */
import assert from 'node:assert/strict'
import { SQSClient } from '@aws-sdk/client-sqs'
import { afterAll, beforeAll, describe, expectTypeOf, test } from 'vitest'
import { z } from 'zod'
import {
  defineApp,
  fifo,
  jobs,
  MillraceError,
  open,
  queue,
  type SqsClient,
  sqsSender,
  UnsentError,
} from '../../src/index.ts'
import { type RunningServer, serve } from '../../src/server.ts'
import { virtualPorts } from '../../src/testing/virtual-clock.ts'
import { type TemporaryFolder, temporaryFolder } from '../support/temporary-folder.ts'

const shop = defineApp('shop', {
  queues: {
    orders: queue({ schema: z.object({ n: z.number() }), maxMessageBytes: 400_000 }),
    lines: fifo({ schema: z.object({ n: z.number() }), deduplication: 'content' }),
    printQueue: jobs({ types: { PRINT: z.object({ page: z.number() }) } }),
  },
})

let folder: TemporaryFolder
let server: RunningServer
let client: SQSClient

beforeAll(async () => {
  folder = await temporaryFolder('sender')
  const mill = await open(shop, { data: folder.path })
  await mill.close()
  server = await serve({ data: folder.path, port: 0 })
  const credentials = { accessKeyId: 'test', secretAccessKey: 'test' }
  client = new SQSClient({ endpoint: server.url, region: 'us-east-1', credentials })
})
afterAll(async () => {
  client.destroy()
  await server.stop()
  await folder.remove()
})

/** Reads and deletes what is in a queue, through the store. */
async function taken(key: 'orders' | 'lines'): Promise<readonly object[]> {
  const mill = await open(shop, { data: folder.path })
  try {
    const deliveries = await mill.queues[key].receive({ max: 100, wait: '0s' })
    for (const delivery of deliveries) await delivery.acknowledge()
    return deliveries.map(({ message, tenant, group, attributes }) => ({
      message,
      by: tenant ?? group,
      attributes: Object.keys(attributes),
    }))
  } finally {
    await mill.close()
  }
}

/** A client that gives the answers of a test, and records the commands. */
function scripted(answers: readonly ((input: never) => unknown)[]): {
  readonly client: SqsClient
  readonly inputs: { readonly Entries?: readonly { readonly Id: string }[] }[]
} {
  const inputs: never[] = []
  const send = async ({ input }: { readonly input: never }): Promise<unknown> => {
    inputs.push(input)
    return answers[inputs.length - 1]?.(input) ?? accept(input)
  }
  return { client: { send: send as SqsClient['send'] }, inputs }
}

interface BatchInput {
  readonly Entries: readonly { readonly Id: string; readonly MessageBody: string }[]
}

function accept({ Entries = [] }: Partial<BatchInput>): unknown {
  return { Successful: Entries.map(({ Id }) => ({ Id, MessageId: `m${Id}` })) }
}

const urls = {
  orders: 'http://127.0.0.1:1/000000000000/orders',
  lines: 'http://127.0.0.1:1/x/l.fifo',
}

describe('a sender', () => {
  test('sends what fits the contract, to a queue that it finds by name', async () => {
    const sender = sqsSender(shop, { client, environment: {} })
    const attributes = { source: { type: 'String', value: 'web' } }
    const { id, sequence } = await sender.send('orders', { n: 1 }, { tenant: 'ann', attributes })
    assert.match(id, /^[0-9a-f-]{36}$/)
    assert.equal(sequence, null)
    assert.deepEqual(await taken('orders'), [
      { message: { n: 1 }, by: 'ann', attributes: ['source'] },
    ])
  })

  test('sends to a FIFO queue with a group, once for each deduplication id', async () => {
    const sender = sqsSender(shop, { client, environment: {} })
    const one = await sender.send('lines', { n: 1 }, { group: 'a', deduplicationId: 'x' })
    const again = await sender.send('lines', { n: 1 }, { group: 'a', deduplicationId: 'x' })
    assert.equal(one.id, again.id)
    assert.match(one.sequence ?? '', /^\d+$/)
    assert.deepEqual(await taken('lines'), [{ message: { n: 1 }, by: 'a', attributes: [] }])
  })

  test('checks before it sends, with the types of the app', async () => {
    const { client: none, inputs } = scripted([])
    const sender = sqsSender(shop, { client: none, urls })
    expectTypeOf(sender.send<'orders'>)
      .parameter(1)
      .toEqualTypeOf<{ n: number }>()
    const refused = (call: Promise<unknown>, text: RegExp) => assert.rejects(call, text)
    await refused(sender.send('orders', Object({ n: 'x' })), /message\.n: got a string/)
    const longest =
      /^MillraceError: delay: got 20m, expected at most 15m, which is the limit of SQS$/
    await refused(sender.send('orders', { n: 1 }, { delay: '20m' }), longest)
    await refused(sender.sendMany('orders', [{ n: 1 }], { delay: '20m' }), longest)
    await refused(sender.enqueue('printQueue', 'PRINT', { page: 1 }, { delay: '20m' }), longest)
    const runAt = new Date(Date.now() + 3_600_000)
    await refused(
      sender.send('orders', { n: 1 }, { runAt }),
      new RegExp(`runAt: got ${runAt.toISOString()}, expected a time at most 15m away`),
    )
    await refused(
      sender.send('orders', { n: 1 }, Object({ group: 'a' })),
      /group: got an unknown option/,
    )
    await refused(sender.send('lines', { n: 1 }, Object({})), /message group/)
    await refused(sender.send('order' as 'orders', { n: 1 }), /queue: got/)
    await refused(sender.send('printQueue' as 'orders', { n: 1 }), /use enqueue\(\)/)
    await refused(sender.enqueue('printQueue', 'SCAN' as 'PRINT', { page: 1 }), /type: got/)
    await refused(
      sender.sendMany('orders', [{ n: 1 }, Object({}), Object({ n: null })]),
      /messages\[1\]\.n.*\n.*messages\[2\]\.n/,
    )
    const large = Object({ n: 1, text: 'x'.repeat(400_000) })
    await refused(sender.send('orders', large), /400017 bytes/)
    assert.equal(inputs.length, 0)
    assert.throws(() => sqsSender(shop, Object({ url: {} })), /url.*urls/s)
    assert.throws(() => sqsSender(shop, { urls: Object({ order: 'x' }) }), /urls\.order/)
  })

  test('checks a message now and sends it later', async () => {
    const { client: one, inputs } = scripted([() => ({ MessageId: 'm' })])
    const checked = await sqsSender(shop, { client: one, urls }).check('orders', { n: 1 })
    assert.equal(inputs.length, 0)
    assert.deepEqual(await checked.send(), { id: 'm', sequence: null })
    assert.deepEqual(inputs, [{ QueueUrl: urls.orders, MessageBody: '{"n":1}' }])
  })

  test('reads URLs from variables that follow from the keys', async () => {
    const { client: two, inputs } = scripted([() => ({}), () => ({})])
    const environment = { ORDERS_QUEUE_URL: 'http://a/1/o', PRINT_QUEUE_URL: 'http://a/1/p' }
    const sender = sqsSender(shop, { client: two, environment })
    await sender.send('orders', { n: 1 }, { delay: { ms: 1_500 } })
    assert.deepEqual(inputs[0], {
      QueueUrl: 'http://a/1/o',
      MessageBody: '{"n":1}',
      // SQS has whole seconds.
      DelaySeconds: 2,
    })
    await sender.enqueue('printQueue', 'PRINT', { page: 1 }, { tenant: 'ann', delay: '2s' })
    assert.deepEqual(inputs.at(-1), {
      QueueUrl: 'http://a/1/p',
      MessageBody: '{"page":1}',
      DelaySeconds: 2,
      MessageGroupId: 'ann',
      MessageAttributes: { 'millrace.jobType': { DataType: 'String', StringValue: 'PRINT' } },
    })
  })

  test('names the variable and the stage when there is no such queue', async () => {
    const sender = sqsSender(shop, { client, stage: 'prod', environment: {} })
    await assert.rejects(sender.send('orders', { n: 1 }), {
      code: 'queue_not_found',
      message: /'shop-prod-orders'.*'prod'.*ORDERS_QUEUE_URL/,
    })
  })

  test('passes on why SQS did not take a message', async () => {
    const cause = Object.assign(new Error('Rate exceeded'), { name: 'ThrottlingException' })
    const { client: full } = scripted([
      () => {
        throw cause
      },
    ])
    await assert.rejects(sqsSender(shop, { client: full, urls }).send('orders', { n: 1 }), {
      code: 'send_failed',
      retryable: true,
      message: /'orders' was not sent: ThrottlingException: Rate exceeded/,
      cause,
    })
  })
})

describe('many messages', () => {
  test('are sent in batches of ten', async () => {
    const sender = sqsSender(shop, { client, environment: {} })
    const messages = Array.from({ length: 25 }, (_, n) => ({ n }))
    const sent = await sender.sendMany('orders', messages, ({ n }) => ({ tenant: `t${n % 2}` }))
    assert.equal(new Set(sent.map(({ id }) => id)).size, 25)
    const all = await taken('orders')
    assert.equal(all.length, 25)
    assert.deepEqual(await sender.sendMany('orders', []), [])
  })

  test('are split by size too', async () => {
    const { client: two, inputs } = scripted([])
    const text = 'x'.repeat(300_000)
    const messages = Array.from({ length: 4 }, (_, n) => Object({ n, text }))
    await sqsSender(shop, { client: two, urls }).sendMany('orders', messages)
    assert.deepEqual(
      inputs.map(({ Entries = [] }) => Entries.map(({ Id }) => Id)),
      [['0', '1', '2'], ['3']],
    )
  })

  test('are tried again if the failure is not theirs, and reported if it is', async () => {
    const ports = virtualPorts()
    const failed = (Id: string, SenderFault: boolean) => ({
      Id,
      SenderFault,
      Code: 'X',
      Message: 'no',
    })
    const { client: shaky, inputs } = scripted([
      () => ({
        Successful: [{ Id: '0', MessageId: 'm0' }],
        Failed: [failed('1', false), failed('2', true)],
      }),
    ])
    const sender = sqsSender(shop, { client: shaky, urls, ports })
    const sending = sender.sendMany('orders', [{ n: 0 }, { n: 1 }, { n: 2 }])
    const checked = assert.rejects(sending, (error) => {
      assert.ok(error instanceof UnsentError && error instanceof MillraceError)
      assert.deepEqual(error.unsent, [{ index: 2, code: 'X', reason: 'no' }])
      assert.deepEqual(
        error.sent.map((one) => one?.id),
        ['m0', 'm1', undefined],
      )
      return true
    })
    while (inputs.length < 2) {
      await new Promise(setImmediate)
      await ports.clock.advance(100)
    }
    await checked
    assert.deepEqual(
      inputs[1]?.Entries?.map(({ Id }) => Id),
      ['1'],
    )
  })

  test('stop at the first failure of a FIFO queue, so that none comes too early', async () => {
    const { client: shaky, inputs } = scripted([
      ({ Entries }: BatchInput) => ({
        Successful: Entries.slice(1).map(({ Id }) => ({ Id, MessageId: Id })),
        Failed: [{ Id: '0', Code: 'X', Message: 'no', SenderFault: false }],
      }),
    ])
    const messages = Array.from({ length: 12 }, (_, n) => ({ n }))
    const sending = sqsSender(shop, { client: shaky, urls }).sendMany('lines', messages, {
      group: 'a',
    })
    await assert.rejects(sending, (error) => {
      assert.ok(error instanceof UnsentError)
      assert.deepEqual(
        error.unsent.map(({ index, code }) => [index, code]),
        [
          [0, 'X'],
          [10, 'NotSent'],
          [11, 'NotSent'],
        ],
      )
      return true
    })
    assert.equal(inputs.length, 1)
  })

  test.each([
    ['of the network', { name: 'Error', code: 'ECONNREFUSED' }, 'ECONNREFUSED'],
    ['of SQS', { name: 'ThrottlingException', $fault: 'client', code: 'X' }, 'ThrottlingException'],
    ['without a code', { name: 'Error' }, 'Unknown'],
  ])('have the code of an error %s', async (_name, fields, code) => {
    const cause = Object.assign(new Error('it failed'), fields)
    const failing = scripted([() => Promise.reject(cause)]).client
    const sending = sqsSender(shop, { client: failing, urls }).sendMany('orders', [{ n: 1 }])
    await assert.rejects(sending, { unsent: [{ index: 0, code, reason: 'it failed' }] })
  })

  test('have the code and the reason when no server listens, with the real SDK', async () => {
    const credentials = { accessKeyId: 'test', secretAccessKey: 'test' }
    const endpoint = 'http://127.0.0.1:1'
    const own = new SQSClient({ endpoint, region: 'us-east-1', credentials, maxAttempts: 1 })
    const sending = sqsSender(shop, { client: own, urls }).sendMany('orders', [{ n: 1 }])
    await assert.rejects(sending, (error) => {
      assert.ok(error instanceof UnsentError)
      const [unsent] = error.unsent
      assert.equal(unsent?.code, 'ECONNREFUSED')
      assert.match(unsent.reason, /ECONNREFUSED/)
      return true
    })
    own.destroy()
  })

  test('report everything after a call that failed as a whole', async () => {
    const cause = new Error('connect ECONNREFUSED')
    const { client: gone, inputs } = scripted([
      (input) => accept(input),
      () => {
        throw cause
      },
    ])
    const messages = Array.from({ length: 30 }, (_, n) => ({ n }))
    const sending = sqsSender(shop, { client: gone, urls }).sendMany('orders', messages)
    await assert.rejects(sending, (error) => {
      assert.ok(error instanceof UnsentError)
      assert.deepEqual([error.unsent.length, error.cause], [20, cause])
      return true
    })
    assert.equal(inputs.length, 2)
  })
})
