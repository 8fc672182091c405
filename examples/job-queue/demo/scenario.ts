/** What users do with the system in the demo, over HTTP and a socket only. */
import assert from 'node:assert/strict'
import { io } from 'socket.io-client'
import { drawPage } from '../../shared/draw-page.ts'
import { untilMatching } from '../../shared/until.ts'
import type { Identity } from '../identity.ts'
import type { Mailbox } from './mailbox.ts'

export interface ScenarioSetup {
  readonly url: string
  readonly identity: Identity
  readonly mailbox: Mailbox
  readonly print: (line: string) => void
}

type Json = Record<string, unknown>

export async function runScenario({ url, identity, mailbox, print }: ScenarioSetup): Promise<void> {
  const ada = await identity.issue({ userId: 'ada', role: 'user' })
  const bob = await identity.issue({ userId: 'bob', role: 'user' })
  const backOffice = await identity.issue({ userId: 'back-office', role: 'internal' })

  await uploadAndSearch(new Client(url, ada), print)
  await sendMail(new Client(url, backOffice), mailbox, print)
  await notify({ staff: new Client(url, backOffice), user: new Client(url, ada) }, print)
  print('Ada and Bob each order a course of two modules; Bob has credits for three steps.')
  await Promise.all([
    orderCourse({ url, token: ada, who: 'Ada', expected: 'completed' }, print),
    orderCourse({ url, token: bob, who: 'Bob', expected: 'failed_insufficient_credits' }, print),
  ])
}

async function uploadAndSearch(user: Client, print: (line: string) => void): Promise<void> {
  const page = await drawPage(['The mill wheel turns the stone', 'Invoice 2041 is due on Friday'])
  const uploaded = await user.post('/documents?title=Scan', page, 'image/png')
  print(`Ada uploads a scanned page: 202, job ${uploaded['status']}.`)
  const job = await user.until(
    `/jobs/${uploaded['job_id']}`,
    ({ status }) => status !== 'pending' && status !== 'processing',
  )
  assert.equal(job['status'], 'completed')
  print(`A worker reads it: job ${job['status']} after ${job['attempts_made']} attempt.`)
  const found = await user.until('/search?q=mill+wheel', ({ items }) => isFilled(items))
  assert.deepEqual(found['items'], [{ entityId: uploaded['document_id'], title: 'Scan' }])
  print('A search for "mill wheel" finds the page.')

  const order = JSON.stringify({ task: 'keywords' })
  const task = await user.post(`/documents/${uploaded['document_id']}/ai`, order)
  const done = await user.until(`/jobs/${task['job_id']}`, ({ status }) => status === 'completed')
  print(`Keywords are extracted: job ${done['status']}.`)
}

async function sendMail(
  staff: Client,
  mailbox: Mailbox,
  print: (line: string) => void,
): Promise<void> {
  const email = { payload: { to: 'ada@example.com', template: 'welcome' } }
  const key = { 'idempotency-key': 'welcome-ada' }
  const first = await staff.post('/jobs/email_queue', JSON.stringify(email), json, key)
  const again = await staff.post('/jobs/email_queue', JSON.stringify(email), json, key)
  assert.equal(again['job_id'], first['job_id'])
  print('The back office asks twice for the same welcome e-mail, with one idempotency key.')
  await mailbox.count(1)
  assert.deepEqual(mailbox.received[0]?.to, ['ada@example.com'])
  print('The SMTP server has one message for ada@example.com.')
}

async function notify(
  { staff, user }: { readonly staff: Client; readonly user: Client },
  print: (line: string) => void,
): Promise<void> {
  const notification = { payload: { user_id: 'ada', kind: 'document_ready' } }
  await staff.post('/jobs/notification_queue', JSON.stringify(notification))
  const { items } = await user.until('/notifications', (answer) => isFilled(answer['items']))
  assert.equal(Array.isArray(items) && items.length, 1)
  print('Ada has one notification.')
}

interface Order {
  readonly url: string
  readonly token: string
  readonly who: string
  readonly expected: string
}

async function orderCourse(order: Order, print: (line: string) => void): Promise<void> {
  const { url, token, who, expected } = order
  const user = new Client(url, token)
  const course = await user.post('/courses', JSON.stringify({ topic: 'Water mills', modules: 2 }))
  const socket = io(url, { auth: { token }, transports: ['websocket'] })
  const ended = new Promise<Json>((resolve) => {
    socket.on('course_progress', ({ step }: Json) => print(`  ${who}'s browser receives: ${step}`))
    socket.on('course_completed', resolve)
    socket.on('course_failed', resolve)
  })
  await socket.emitWithAck('follow', { course_id: course['course_id'], after: 0 })
  const { status } = await ended
  socket.close()
  print(`  ${who}'s browser receives the end: ${status}`)
  assert.equal(status, expected)
  const stored = await user.get(`/courses/${course['course_id']}`)
  assert.equal(stored['status'], expected)
}

const json = 'application/json'

class Client {
  readonly #url: string
  readonly #token: string

  constructor(url: string, token: string) {
    this.#url = url
    this.#token = token
  }

  get(path: string): Promise<Json> {
    return this.#ask(path, {}, 200)
  }

  /** Requests that enqueue work return 202. */
  post(
    path: string,
    body: string | Buffer,
    type: string = json,
    headers: Readonly<Record<string, string>> = {},
  ): Promise<Json> {
    return this.#ask(
      path,
      {
        method: 'POST',
        body: new Uint8Array(Buffer.from(body)),
        headers: { 'content-type': type, ...headers },
      },
      202,
    )
  }

  /** Polls until the response matches. */
  until(path: string, isWanted: (answer: Json) => boolean): Promise<Json> {
    return untilMatching(() => this.get(path), isWanted, `${path} has the expected response`)
  }

  async #ask(path: string, request: RequestInit, expected: number): Promise<Json> {
    const headers = { ...request.headers, authorization: `Bearer ${this.#token}` }
    const response = await fetch(this.#url + path, { ...request, headers })
    const answer = await response.text()
    assert.equal(response.status, expected, `${path}: ${answer}`)
    return JSON.parse(answer)
  }
}

function isFilled(items: unknown): boolean {
  return Array.isArray(items) && items.length > 0
}
