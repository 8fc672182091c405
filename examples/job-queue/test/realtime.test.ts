/** Browsers on real sockets, connected to two gateways with one database, as in two API processes. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { pino } from 'pino'
import { io, type Socket } from 'socket.io-client'
import { describe, onTestFinished, test } from 'vitest'
import { temporaryFolder } from '../../../test/support/temporary-folder.ts'
import { RealtimeGateway } from '../services/realtime-gateway.ts'
import { openServices, type Services } from '../services/services.ts'

interface Fixture {
  readonly services: Services
  /** Starts another gateway and resolves to its URL. */
  startGateway(): Promise<string>
}

async function openFixture(): Promise<Fixture> {
  const folder = await temporaryFolder('job-queue-realtime')
  const settings = { smtpUrl: 'smtp://127.0.0.1:1', mailFrom: 'no-reply@academy.example' }
  const services = openServices({ dataDirectory: folder.path, ...settings })
  const gateways: RealtimeGateway[] = []
  onTestFinished(async () => {
    await Promise.all(gateways.map((gateway) => gateway.close()))
    await services.close()
    await folder.remove()
  })
  return {
    services,
    async startGateway() {
      const http = createServer()
      const gateway = new RealtimeGateway({
        http,
        events: services.events,
        log: pino({ level: 'silent' }),
        findCourse: (id) => services.courses.find(id),
        userOf: async (token) => (token.startsWith('token-') ? token.slice(6) : undefined),
      })
      gateways.push(gateway)
      http.listen(0, '127.0.0.1')
      await once(http, 'listening')
      return `http://127.0.0.1:${(http.address() as AddressInfo).port}`
    },
  }
}

function browser(url: string, token: string): Socket {
  const socket = io(url, { auth: { token }, transports: ['websocket'], reconnection: false })
  onTestFinished(() => {
    socket.close()
  })
  return socket
}

/** The next event of this name. */
function heard(socket: Socket, name: string): Promise<Record<string, unknown>> {
  return new Promise((resolve) => socket.once(name, resolve))
}

const follow = (socket: Socket, course_id: string, after = 0): Promise<unknown> =>
  socket.emitWithAck('follow', { course_id, after })

describe('a browser', () => {
  test('receives the events of its course from any API process', async () => {
    const { services, startGateway } = await openFixture()
    const course = services.courses.create({ owner: 'ada', topic: 'Mills', modules: 1 })
    const [one, other] = await Promise.all([startGateway(), startGateway()])
    const sockets = [browser(one, 'token-ada'), browser(other, 'token-ada')]
    for (const socket of sockets) assert.deepEqual(await follow(socket, course), { ok: true })
    const failures = sockets.map((socket) => heard(socket, 'course_failed'))
    services.courses.end(course, 'failed_insufficient_credits')
    for (const { course_id, status } of await Promise.all(failures)) {
      assert.deepEqual([course_id, status], [course, 'failed_insufficient_credits'])
    }
  })

  test('receives missed events once and in order', async () => {
    const { services, startGateway } = await openFixture()
    const course = services.courses.create({ owner: 'ada', topic: 'Mills', modules: 1 })
    services.courses.saveOutline(course, [{ title: 'Wheels' }])
    const socket = browser(await startGateway(), 'token-ada')
    const events: unknown[] = []
    socket.onAny((name: string, { step }: { step?: string }) => events.push(step ?? name))
    const completed = heard(socket, 'course_completed')
    await follow(socket, course)
    services.courses.saveFinalExam(course, [])
    services.courses.end(course, 'completed')
    services.courses.end(course, 'failed')
    const { id } = await completed
    assert.deepEqual(events, ['outline', 'final_exam', 'course_completed'])

    const late = browser(await startGateway(), 'token-ada')
    const missed = heard(late, 'course_completed')
    await follow(late, course, Number(id) - 1)
    assert.equal((await missed)['id'], id)
  })

  test('is refused without a valid token, and for the course of another user', async () => {
    const { services, startGateway } = await openFixture()
    const course = services.courses.create({ owner: 'ada', topic: 'Mills', modules: 1 })
    const url = await startGateway()
    const stranger = browser(url, 'wrong')
    assert.equal((await heard(stranger, 'connect_error'))['message'], 'unauthorized')
    assert.deepEqual(await follow(browser(url, 'token-bob'), course), { ok: false })
    assert.deepEqual(await follow(browser(url, 'token-ada'), 'no such course'), { ok: false })
  })
})
