/**
 * HTTP over keep-alive sockets with as little work per request as possible, so that the server is measured and not
 * the client. Each connection sends its next request after the last response is complete.
 */
import { connect, type Socket } from 'node:net'
import type { Answer, Conversation, WireClient } from './wire-client.ts'

export class RawClient implements WireClient {
  readonly #connections: readonly Connection[]

  private constructor(connections: readonly Connection[]) {
    this.#connections = connections
  }

  static async open(port: number, count: number): Promise<RawClient> {
    return new RawClient(await Promise.all(Array.from({ length: count }, () => opened(port))))
  }

  async run(conversation: (index: number) => Conversation): Promise<void> {
    await Promise.all(
      this.#connections.map((connection, index) => connection.run(conversation(index))),
    )
  }

  close(): void {
    for (const connection of this.#connections) connection.close()
  }
}

const headEnd = Buffer.from('\r\n\r\n')

class Connection {
  readonly #socket: Socket
  #pending: Buffer | undefined
  #conversation: Conversation = () => undefined
  #settle: { done: () => void; fail: (error: Error) => void } | undefined

  constructor(socket: Socket) {
    this.#socket = socket
    socket.setNoDelay(true)
    socket.on('data', (chunk) => this.#take(chunk))
    socket.on('error', (error) => this.#settle?.fail(error))
    socket.on('close', () => this.#settle?.fail(new Error('The server closed a connection.')))
  }

  run(conversation: Conversation): Promise<void> {
    return new Promise((done, fail) => {
      this.#settle = { done, fail }
      this.#conversation = conversation
      this.#next(undefined)
    })
  }

  close(): void {
    this.#settle = undefined
    this.#socket.destroy()
  }

  #next(last: Answer | undefined): void {
    const request = this.#conversation(last)
    if (request !== undefined) {
      this.#socket.write(request.bytes)
      return
    }
    const settle = this.#settle
    this.#settle = undefined
    settle?.done()
  }

  #take(chunk: Buffer): void {
    const data = this.#pending === undefined ? chunk : Buffer.concat([this.#pending, chunk])
    const bodyAt = data.indexOf(headEnd) + headEnd.length
    const head = bodyAt < headEnd.length ? '' : data.toString('latin1', 0, bodyAt)
    const [, length] = /content-length: (\d+)/i.exec(head) ?? []
    if (head !== '' && length === undefined) {
      this.#settle?.fail(new Error('The response has no content length.'))
      return
    }
    const end = bodyAt + Number(length)
    if (head === '' || data.length < end) {
      this.#pending = data
      return
    }
    this.#pending = undefined
    this.#next({ status: Number(head.slice(9, 12)), body: data.toString('utf8', bodyAt, end) })
  }
}

function opened(port: number): Promise<Connection> {
  return new Promise((resolve, reject) => {
    const socket = connect({ port, host: '127.0.0.1' })
    socket.once('error', reject)
    socket.once('connect', () => {
      socket.off('error', reject)
      resolve(new Connection(socket))
    })
  })
}
