import assert from 'node:assert/strict'
import { describe, onTestFinished, test } from 'vitest'
import { virtualPorts } from '../../../src/testing/virtual-clock.ts'
import { rawClient } from '../../support/raw-client.ts'
import { basicName, keys, type Scene, serveAcademy, token } from './scene.ts'

interface SentEvent {
  readonly event: string
  readonly id: string
  // biome-ignore lint/suspicious/noExplicitAny: looked at by assertions
  readonly data: any
}

interface Follower {
  readonly status: number
  readonly headers: Headers
  /** The next event; undefined when the stream has ended. */
  next(): Promise<SentEvent | undefined>
  /** All events until the stream ends. */
  rest(): Promise<readonly SentEvent[]>
  /** Drops the connection. */
  drop(): void
}

async function follow(
  scene: Scene,
  id: string,
  headers: Readonly<Record<string, string>> = { 'x-api-key': keys.alice },
): Promise<Follower> {
  const connection = new AbortController()
  onTestFinished(() => connection.abort())
  const response = await fetch(`${scene.server.url}/jobs/${id}/events`, {
    headers,
    signal: connection.signal,
  })
  const events = eventsIn(response)
  const next = async (): Promise<SentEvent | undefined> => (await events.next()).value ?? undefined
  return {
    status: response.status,
    headers: response.headers,
    next,
    async rest() {
      const all: SentEvent[] = []
      for (let event = await next(); event !== undefined; event = await next()) all.push(event)
      return all
    },
    drop: () => connection.abort(),
  }
}

async function* eventsIn(response: Response): AsyncGenerator<SentEvent, undefined> {
  let text = ''
  for await (const chunk of response.body?.pipeThrough(new TextDecoderStream()) ?? []) {
    text += chunk
    const blocks = text.split('\n\n')
    text = blocks.pop() ?? ''
    for (const block of blocks) {
      const field = (name: string): string =>
        new RegExp(`^${name}: (.*)$`, 'm').exec(block)?.[1] ?? ''
      if (field('data') === '') continue
      yield { event: field('event'), id: field('id'), data: JSON.parse(field('data')) }
    }
  }
}

async function report(scene: Scene, receipt: string, progress: number): Promise<void> {
  const noted = await scene.backend.jobs?.reportProgress({ queue: basicName, receipt, progress })
  assert.equal(noted?.status, 'noted')
}

const story = (events: readonly (SentEvent | undefined)[]): readonly unknown[] =>
  events.map((event) => event && [event.event, event.data.status, event.data.progress])

describe('the events of a job', () => {
  test('tell its way to the end, and end with it', async () => {
    const scene = await serveAcademy()
    const id = await scene.enqueue({ owner: 'alice' })
    const follower = await follow(scene, id)
    assert.equal(follower.status, 200)
    assert.match(follower.headers.get('content-type') ?? '', /^text\/event-stream/)
    assert.equal(follower.headers.get('cache-control'), 'no-store')
    const seen = [await follower.next()]
    const delivery = await scene.claim()
    seen.push(await follower.next())
    await report(scene, delivery.receipt, 0.5)
    seen.push(await follower.next())
    await scene.settle(delivery, { kind: 'acknowledge', result: '{"pages":3}' })
    const last = await follower.next()
    assert.deepEqual(story([...seen, last]), [
      ['status', 'pending', 0],
      ['status', 'processing', 0],
      ['progress', 'processing', 0.5],
      ['status', 'completed', 1],
    ])
    assert.deepEqual(last?.data.result, { pages: 3 })
    assert.ok(!('payload' in last.data) && !('queue_name' in last.data))
    assert.equal(await follower.next(), undefined)
  })

  test('go on after a broken connection, without repeats and up to the final state', async () => {
    const scene = await serveAcademy()
    const id = await scene.enqueue({ owner: 'alice' })
    const first = await follow(scene, id)
    await first.next()
    const delivery = await scene.claim()
    const told = await first.next()
    assert.equal(told?.data.status, 'processing')
    first.drop()

    const resume = { 'x-api-key': keys.alice, 'last-event-id': told.id }
    const second = await follow(scene, id, resume)
    await report(scene, delivery.receipt, 0.25)
    const progress = await second.next()
    assert.deepEqual(story([progress]), [['progress', 'processing', 0.25]])
    second.drop()
    // The end comes while nobody listens.
    await scene.settle(delivery, { kind: 'acknowledge', result: 'null' })

    const again = { ...resume, 'last-event-id': progress?.id ?? '' }
    const third = await follow(scene, id, again)
    const rest = await third.rest()
    assert.deepEqual(story(rest), [['status', 'completed', 1]])

    const done = await follow(scene, id, { ...resume, 'last-event-id': rest[0]?.id ?? '' })
    assert.equal(done.status, 204)
    assert.deepEqual(await done.rest(), [])
  })

  test('begin with the present state when the client names a state that never was', async () => {
    const scene = await serveAcademy()
    const id = await scene.enqueue({ owner: 'alice' })
    const follower = await follow(scene, id, { 'x-api-key': keys.alice, 'last-event-id': 'x-1-y' })
    assert.deepEqual(story([await follower.next()]), [['status', 'pending', 0]])
  })

  test('reach all who follow, also those who come when it is over', async () => {
    const scene = await serveAcademy()
    const id = await scene.enqueue({ owner: 'alice' })
    const followers = await Promise.all([1, 2, 3].map(() => follow(scene, id)))
    for (const follower of followers) await follower.next()
    await scene.backend.jobs?.cancel({ id })
    for (const follower of followers) {
      assert.deepEqual(story(await follower.rest()), [['status', 'cancelled', 0]])
    }
    assert.deepEqual(story(await (await follow(scene, id)).rest()), [['status', 'cancelled', 0]])
  })

  test('are limited in number for each caller, and a closed stream makes room', async () => {
    const scene = await serveAcademy({ streamsPerCaller: 2 })
    const id = await scene.enqueue({ owner: 'alice' })
    const [first] = await Promise.all([follow(scene, id), follow(scene, id)])
    const refused = await scene.call(`/jobs/${id}/events`, { key: keys.alice })
    assert.equal(refused.status, 429)
    assert.equal(refused.body.code, 'too_many_streams')
    assert.equal(refused.headers.get('retry-after'), '5')
    assert.equal((await follow(scene, id, { 'x-api-key': keys.admin })).status, 200)
    first?.drop()
    const hasRoom = async (): Promise<boolean> => (await follow(scene, id)).status === 200
    while (!(await hasRoom()));
  })

  test('end after five minutes, so that clients that never read do not use up the limit', async () => {
    const ports = virtualPorts()
    const scene = await serveAcademy({ streamsPerCaller: 2, ports })
    const id = await scene.enqueue({ owner: 'alice' })
    const request = `GET /jobs/${id}/events HTTP/1.1\r\nHost: localhost\r\nX-API-Key: ${keys.alice}\r\n\r\n`
    for (const _ of [1, 2]) {
      const client = await rawClient(scene.server.url)
      onTestFinished(() => client.close())
      client.write(request)
      await client.said(/event: status/)
      client.socket.pause()
    }
    await ports.clock.advance(299_000)
    assert.equal((await follow(scene, id)).status, 429)
    await ports.clock.advance(2_000)
    const next = await follow(scene, id)
    assert.equal(next.status, 200)
    assert.deepEqual(story([await next.next()]), [['status', 'pending', 0]])
    // A client that reads sees the end of its stream, and comes back for what is new.
    await Promise.all([next.rest(), ports.clock.advance(301_000)])
  })

  test('end when the server stops', async () => {
    // A server that waited for the stream would wait for so long.
    const scene = await serveAcademy({ connections: { drain: '1h' } })
    const id = await scene.enqueue({ owner: 'alice' })
    const follower = await follow(scene, id)
    await follower.next()
    const [rest] = await Promise.all([follower.rest(), scene.server.stop()])
    assert.deepEqual(rest, [])
  })

  test('end with the credentials that asked for them', async () => {
    const ports = virtualPorts(1, { startAt: Date.now() })
    const scene = await serveAcademy({ ports })
    const id = await scene.enqueue({ owner: 'alice' })
    const headers = { authorization: `Bearer ${await token({ sub: 'alice' }, '100s')}` }
    const follower = await follow(scene, id, headers)
    assert.deepEqual(story([await follower.next()]), [['status', 'pending', 0]])
    const [rest] = await Promise.all([follower.rest(), ports.clock.advance(300_000)])
    assert.deepEqual(rest, [])
  })

  test('are not begun for a client that only asks for the headers', async () => {
    const scene = await serveAcademy({ streamsPerCaller: 1 })
    const id = await scene.enqueue({ owner: 'alice' })
    for (let count = 0; count < 3; count += 1) {
      const call = { key: keys.alice, method: 'HEAD' }
      assert.equal((await scene.call(`/jobs/${id}/events`, call)).status, 200)
    }
  })
})
