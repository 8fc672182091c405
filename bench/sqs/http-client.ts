/**
 * Node's HTTP client with keep-alive connections, as the SDK uses it, but without the SDK.
 */
import { Agent, request } from 'node:http'
import type { Answer, Conversation, WireClient, WireRequest } from './wire-client.ts'

export class HttpClient implements WireClient {
  readonly #agent: Agent
  readonly #port: number
  readonly #count: number

  constructor(port: number, count: number) {
    this.#port = port
    this.#count = count
    this.#agent = new Agent({ keepAlive: true, maxSockets: count })
  }

  async run(conversation: (index: number) => Conversation): Promise<void> {
    const speakers = Array.from({ length: this.#count }, (_, index) => conversation(index))
    await Promise.all(speakers.map((speaker) => this.#speak(speaker)))
  }

  close(): void {
    this.#agent.destroy()
  }

  async #speak(conversation: Conversation): Promise<void> {
    let last: Answer | undefined
    for (;;) {
      const next = conversation(last)
      if (next === undefined) return
      last = await this.#ask(next)
    }
  }

  #ask({ headers, body }: WireRequest): Promise<Answer> {
    return new Promise((resolve, reject) => {
      const options = { port: this.#port, host: '127.0.0.1', method: 'POST', agent: this.#agent }
      const sent = request({ ...options, headers }, (response) => {
        let text = ''
        response.setEncoding('utf8')
        response.on('data', (chunk: string) => {
          text += chunk
        })
        response.on('end', () => resolve({ status: response.statusCode ?? 0, body: text }))
        response.on('error', reject)
      })
      sent.on('error', reject)
      sent.end(body)
    })
  }
}
