/** A real SMTP server on this machine that receives the example's mail and keeps it in memory. */
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import type { Readable } from 'node:stream'
import { text } from 'node:stream/consumers'
import { SMTPServer } from 'smtp-server'

export interface ReceivedMail {
  readonly to: readonly string[]
  /** Headers and body as received. */
  readonly source: string
}

export class Mailbox {
  readonly received: ReceivedMail[] = []
  /** While set, deliveries are refused with this text. */
  refusal: string | undefined
  /** Called before a message is accepted; delays it until the promise resolves. */
  beforeAccept: () => Promise<void> = async () => undefined
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

  /** Starts on a free port and resolves to the URL. */
  async start(): Promise<string> {
    const listening = this.#server.listen(0, '127.0.0.1')
    await once(listening, 'listening')
    // The address of a listening TCP server has this type.
    const { port } = listening.address() as AddressInfo
    return `smtp://127.0.0.1:${port}`
  }

  /** Waits until this many messages have arrived. */
  async count(messages: number): Promise<void> {
    while (this.received.length < messages) {
      await new Promise<void>((resolve) => this.#onReceived.add(resolve))
    }
  }

  async #take(stream: Readable, to: readonly string[]): Promise<void> {
    const source = await text(stream)
    await this.beforeAccept()
    if (this.refusal !== undefined) throw new Error(this.refusal)
    this.received.push({ to, source })
    for (const resolve of this.#onReceived) resolve()
    this.#onReceived.clear()
  }

  stop(): Promise<void> {
    return new Promise((resolve) => this.#server.close(resolve))
  }
}
