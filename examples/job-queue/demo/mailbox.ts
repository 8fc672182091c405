/** A real SMTP server on this machine that keeps what it is given: where the example's mail goes. */
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import type { Readable } from 'node:stream'
import { text } from 'node:stream/consumers'
import { SMTPServer } from 'smtp-server'

export interface ReceivedMail {
  readonly to: readonly string[]
  /** Headers and body as they came over the wire. */
  readonly source: string
}

export class Mailbox {
  readonly received: ReceivedMail[] = []
  /** While set, deliveries are refused with this text, as a server in trouble does. */
  trouble: string | undefined
  /** Called with a message at the door; it is taken in once this answers. */
  door: () => Promise<void> = async () => undefined
  readonly #server: SMTPServer
  readonly #onReceived = new Set<() => void>()

  constructor() {
    this.#server = new SMTPServer({
      authOptional: true,
      disabledCommands: ['STARTTLS'],
      onData: (stream, session, answer) => {
        const to = session.envelope.rcptTo.map(({ address }) => address)
        this.#take(stream, to).then(() => answer(), answer)
      },
    })
  }

  /** Starts it on a free port and answers its address. */
  async start(): Promise<string> {
    const listening = this.#server.listen(0, '127.0.0.1')
    await once(listening, 'listening')
    // A server that listens on a port has such an address.
    const { port } = listening.address() as AddressInfo
    return `smtp://127.0.0.1:${port}`
  }

  /** Waits until so many messages have come. */
  async count(messages: number): Promise<void> {
    while (this.received.length < messages) {
      await new Promise<void>((resolve) => this.#onReceived.add(resolve))
    }
  }

  async #take(stream: Readable, to: readonly string[]): Promise<void> {
    const source = await text(stream)
    await this.door()
    if (this.trouble !== undefined) throw new Error(this.trouble)
    this.received.push({ to, source })
    for (const resolve of this.#onReceived) resolve()
    this.#onReceived.clear()
  }

  stop(): Promise<void> {
    return new Promise((resolve) => this.#server.close(resolve))
  }
}
