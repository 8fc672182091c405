/** `millrace message tail`: following a queue, and passing its messages on. */
import assert from 'node:assert/strict'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { describe, onTestFinished, test } from 'vitest'
import { ordersScene } from './cli-scene.ts'

describe('a tail', () => {
  test('prints what comes after it began, and takes nothing', async () => {
    const { start, backend } = await ordersScene()
    await backend.send({ queue: 'orders', messages: [{ body: 'before' }] })
    const tail = start(['message', 'tail', 'orders', '--body'])
    await tail.notice(/Following orders/)
    await backend.send({ queue: 'orders', messages: [{ body: 'now' }, { body: 'then' }] })
    await tail.output(/then/)
    await backend.send({ queue: 'orders', messages: [{ body: 'delayed', delayMs: 60_000 }] })
    await tail.output(/delayed/)
    tail.interrupt()
    const end = await tail.ended
    assert.deepEqual([end.code, end.stdout], [0, 'now\nthen\ndelayed\n'])
    assert.equal((await backend.queueStatistics({ queue: 'orders' })).totals.received, 0)
  })

  test('begins with what is there when it is told to', async () => {
    const { start, backend } = await ordersScene()
    await backend.send({ queue: 'orders', messages: [{ body: 'before' }] })
    const tail = start(['message', 'tail', 'orders', '--jsonl', '--from-start'])
    await tail.output(/before/)
    tail.interrupt()
    const [line = ''] = (await tail.ended).stdout.split('\n')
    assert.equal(JSON.parse(line).body, 'before')
  })
})

interface Hook {
  readonly url: string
  readonly posts: { readonly body: string; readonly headers: Readonly<Record<string, unknown>> }[]
}

/** An address at which nobody listens any more. */
async function closedAddress(): Promise<string> {
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  await new Promise((resolve) => server.close(resolve))
  return `http://127.0.0.1:${port}/`
}

/** A server that answers each body with a status. */
async function hook(statusOf: (body: string) => number): Promise<Hook> {
  const posts: Hook['posts'] = []
  const server: Server = createServer((request, response) => {
    let body = ''
    request.setEncoding('utf8').on('data', (text: string) => {
      body += text
    })
    request.on('end', () => {
      posts.push({ body, headers: request.headers })
      response.writeHead(statusOf(body), { location: 'http://127.0.0.1:1/' }).end('answer')
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => void server.close())
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook`, posts }
}

describe('forwarding', () => {
  test('posts each body, deletes it on 2xx, and leaves the others for later', async () => {
    const { start, backend } = await ordersScene()
    const { url, posts } = await hook((body) => ({ bad: 500, moved: 302 })[body] ?? 204)
    const bodies = ['{"id":1}', 'bad', 'moved']
    await backend.send({ queue: 'orders', messages: bodies.map((body) => ({ body, group: 'g' })) })
    const tail = start(['message', 'tail', 'orders', '--forward-to', url, '--jsonl'])
    await tail.output(/(.*\n){3}/)
    tail.interrupt()
    const end = await tail.ended
    assert.equal(end.code, 0, end.stderr)
    const answers = end.stdout
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line))
    assert.deepEqual(answers.map(({ answer, deleted }) => [answer, deleted]).sort(), [
      [204, true],
      [302, false],
      [500, false],
    ])
    const headers = posts.find(({ body }) => body === '{"id":1}')?.headers ?? {}
    assert.equal(headers['content-type'], 'application/json')
    assert.equal(headers['x-millrace-queue'], 'orders')
    assert.equal(headers['x-millrace-group'], 'g')
    const { ready, leased, totals } = await backend.queueStatistics({ queue: 'orders' })
    assert.deepEqual([ready, leased, totals.acknowledged], [0, 2, 1])
  })

  test('lets nothing of a FIFO group overtake what was not taken', async () => {
    const { start, backend } = await ordersScene()
    const { url, posts } = await hook((body) => (body === 'a2' ? 503 : 200))
    const messages = ['a1', 'a2', 'a3', 'b1'].map((body) => ({
      body,
      group: body.slice(0, 1),
      deduplicationId: body,
    }))
    await backend.send({ queue: 'steps.fifo', messages })
    const tail = start(['message', 'tail', 'steps.fifo', '--forward-to', url])
    await tail.output(/(.*\n){3}/)
    tail.interrupt()
    await tail.ended
    assert.deepEqual(posts.map(({ body }) => body).sort(), ['a1', 'a2', 'b1'])
    assert.equal((await backend.queueStatistics({ queue: 'steps.fifo' })).leased, 2)
  })

  test('leaves a message where nobody listens, and says why', async () => {
    const { start, backend } = await ordersScene()
    await backend.send({ queue: 'orders', messages: [{ body: 'x' }] })
    const tail = start(['message', 'tail', 'orders', '--forward-to', await closedAddress()])
    await tail.output(/ECONNREFUSED .* stays in the queue/)
    tail.interrupt()
    assert.equal((await tail.ended).code, 0)
    assert.equal((await backend.queueStatistics({ queue: 'orders' })).leased, 1)
  })

  test('goes to web addresses only', async () => {
    const { run } = await ordersScene()
    const end = await run('message', 'tail', 'orders', '--forward-to', 'ftp://example.org')
    assert.equal(end.code, 2)
    assert.match(end.stderr, /http:\/\//)
  })
})
