/** A store that fails: clients hear of it in the words of AWS, and the log says why without a body. */
import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { describe, test } from 'vitest'
import { MillraceError } from '../../../src/core/millrace-error.ts'
import { systemPorts } from '../../../src/core/ports.ts'
import type { LogFields, Logger } from '../../../src/observability/logger.ts'
import type { Services } from '../../../src/surfaces/services.ts'
import { sqsWire } from '../../../src/surfaces/sqs-protocol/sqs-wire.ts'

interface Line {
  readonly level: string
  readonly fields: LogFields
  readonly message: string
}

interface Failed {
  readonly json: Response
  readonly query: Response
  readonly lines: readonly Line[]
}

/** What becomes of a send when the store rejects it; a real store fails at will of nobody. */
async function sendTo(fail: () => unknown, action = 'SendMessage'): Promise<Failed> {
  const lines: Line[] = []
  const write = (level: string) => (fields: LogFields, message: string) => {
    lines.push({ level, fields, message })
  }
  const log: Logger = {
    debug: write('debug'),
    info: write('info'),
    warn: write('warn'),
    error: write('error'),
  }
  const store = { send: async () => fail() }
  const services = { store, ports: systemPorts, stopping: new AbortController().signal }
  // The wire asks for no more than this of them.
  const wire = sqsWire({ ...services, isPublic: false } as unknown as Services, { log })
  const server = createServer(wire.answer)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const queue = { QueueUrl: 'orders' }
  const message = { MessageBody: 'a secret' }
  const isBatch = action.endsWith('Batch')
  const input = isBatch ? { Entries: [{ Id: 'one', ...message }] } : message
  const entry = 'SendMessageBatchRequestEntry.1'
  const form = isBatch
    ? { [`${entry}.Id`]: 'one', [`${entry}.MessageBody`]: message.MessageBody }
    : message
  const json = await fetch(url, {
    method: 'POST',
    headers: { 'x-amz-target': `AmazonSQS.${action}` },
    body: JSON.stringify({ ...queue, ...input }),
  })
  const query = await fetch(url, {
    method: 'POST',
    body: new URLSearchParams({ Action: action, ...queue, ...form }),
  })
  server.close()
  return { json, query, lines }
}

describe('a failure of the store', () => {
  test.each(['store_busy', 'store_full', 'store_failed', 'store_closed'] as const)(
    'that may pass (%s) is 503 ServiceUnavailable',
    async (code) => {
      const { json, query, lines } = await sendTo(() => {
        throw new MillraceError(code)
      })
      assert.deepEqual([json.status, query.status], [503, 503])
      const { __type } = (await json.json()) as { __type: string }
      assert.equal(__type, 'com.amazon.coral.service#ServiceUnavailable')
      const xml = await query.text()
      assert.match(xml, /<Type>Receiver<\/Type><Code>ServiceUnavailable<\/Code>/)
      const [line, ...others] = lines
      assert.equal(others.length, 1)
      assert.equal(line?.level, 'error')
      assert.equal(line?.fields['action'], 'SendMessage')
      assert.equal(line?.fields['error'], new MillraceError(code).message)
    },
  )

  test.each([
    ['SendMessage', 'The disk that holds the store is full.'],
    ['SendMessageBatch', 'The disk that holds the store is full.'],
  ])('is one line in the log, without a place in the sources: %s', async (action, error) => {
    const { json, query, lines } = await sendTo(() => {
      throw new MillraceError('store_full')
    }, action)
    assert.deepEqual([json.status, query.status], [503, 503])
    assert.equal(lines.length, 2)
    for (const { fields } of lines) {
      const { request_id: _, ...said } = fields
      assert.deepEqual(said, { action, status: 503, code: 'ServiceUnavailable', error })
    }
  })

  test('that another error hides is still what the log says', async () => {
    const { lines } = await sendTo(() => {
      throw new Error('a secret', { cause: new MillraceError('store_full') })
    })
    assert.equal(lines[0]?.fields['error'], 'The disk that holds the store is full.')
    assert.doesNotMatch(JSON.stringify(lines), /secret/)
  })

  test('that nobody expected is 500 InternalFailure, and says nothing of its cause', async () => {
    const { json, query, lines } = await sendTo(() => {
      throw new TypeError('cannot read a secret')
    })
    assert.deepEqual([json.status, query.status], [500, 500])
    const body = await json.text()
    assert.match(body, /InternalFailure/)
    assert.match(await query.text(), /<Type>Receiver<\/Type><Code>InternalFailure<\/Code>/)
    const [line] = lines
    assert.equal(line?.level, 'error')
    assert.equal(line?.fields['error'], 'TypeError')
    // The place, without the path: that is about the machine, not about the fault.
    assert.match(String(line?.fields['at']), /^[^/]*\bfailures\.test\.ts:\d+:\d+\)?$/)
    assert.doesNotMatch(body + JSON.stringify(lines), /secret/)
  })
})

test('a request that is refused is a line for those who debug', async () => {
  const { json, lines } = await sendTo(() => {
    throw new MillraceError('queue_not_found')
  })
  assert.equal(json.status, 400)
  const [line] = lines
  assert.equal(line?.level, 'debug')
  assert.equal(line?.fields['code'], 'AWS.SimpleQueueService.NonExistentQueue')
  assert.equal(line?.fields['request_id'], json.headers.get('x-amzn-requestid'))
  assert.doesNotMatch(JSON.stringify(lines), /secret/)
})
