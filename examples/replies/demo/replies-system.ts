/**
 * The whole engine on this machine, in a folder of its own: the template brought up, the server that speaks
 * SQS and watches the alarms, the webhooks, and a worker.
 */
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { millraceFile, runMillrace } from '../../shared/millrace-command.ts'
import { Program } from '../../shared/program.ts'
import { Outbox } from '../answering/outbox.ts'
import { ConversationBook } from '../conversations/conversation-book.ts'
import { Provider } from './provider.ts'
import { sampleConversations } from './sample-conversations.ts'

const example = join(import.meta.dirname, '..')
export const template: string = join(example, 'template.yaml')

export interface SystemSetup {
  readonly folder: string
  readonly onLine?: (line: string) => void
  /** Besides those that the system needs. */
  readonly variables?: Variables
}

const secrets = {
  TWILIO_AUTH_TOKEN: 'a-token-for-the-demo',
  EMAIL_WEBHOOK_SECRET: 'a-secret-for-the-demo',
} as const

type Variables = Readonly<Record<string, string>>

interface Parts {
  readonly endpoint: string
  readonly provider: Provider
  readonly folder: string
  readonly server: Program
  readonly webhooks: Program
  readonly worker: Program
  readonly startWorker: (more: Variables) => Promise<Program>
}

export class RepliesSystem implements AsyncDisposable {
  /** The SQS endpoint. */
  readonly endpoint: string
  /** Who calls the webhooks, with the right signatures. */
  readonly provider: Provider
  readonly book: ConversationBook
  readonly outbox: Outbox
  readonly #parts: Parts
  #worker: Program

  private constructor(parts: Parts) {
    this.endpoint = parts.endpoint
    this.provider = parts.provider
    this.#parts = parts
    this.#worker = parts.worker
    this.book = new ConversationBook(join(parts.folder, 'conversations.db'))
    this.outbox = new Outbox(join(parts.folder, 'answers.db'))
  }

  static async start({ folder, onLine, variables: more }: SystemSetup): Promise<RepliesSystem> {
    await mkdir(folder, { recursive: true })
    const book = new ConversationBook(join(folder, 'conversations.db'))
    for (const conversation of sampleConversations) book.add(conversation)
    book.close()
    const variables = { ...secrets, REPLIES_DATA: folder, PORT: '0', ...more }
    const start = (command: readonly string[], own: Variables = {}): Program =>
      new Program({ command, variables: { ...variables, ...own }, ...(onLine && { onLine }) })
    const startWorker = async (own: Variables): Promise<Program> => {
      const program = start([join(example, 'run-worker.ts')], own)
      await program.said(/^worker ready$/)
      return program
    }

    const up = start([millraceFile, 'up', template, '--data', folder])
    if ((await up.ended) !== 0) throw new Error(`The template did not go up:\n${up.output}`)
    const server = start([millraceFile, 'serve', '--data', folder, '--port', '0'])
    const webhooks = start([join(example, 'serve-webhooks.ts')])
    const worker = await startWorker({})
    const [, endpoint = ''] = await server.said(/(http:\/\/[\d.]+:\d+)/)
    const [, url = ''] = await webhooks.said(/^webhooks (http:\S+)$/)
    const { TWILIO_AUTH_TOKEN: twilioAuthToken, EMAIL_WEBHOOK_SECRET: emailSecret } = secrets
    const provider = new Provider({ url, twilioAuthToken, emailSecret })
    return new RepliesSystem({
      ...{ endpoint, provider, folder, startWorker },
      ...{ server, webhooks, worker },
    })
  }

  /** Puts another worker in place of the one that runs, with other settings. */
  async replaceWorker(variables: Variables): Promise<void> {
    await this.#worker.stop()
    this.#worker = await this.#parts.startWorker(variables)
  }

  /** Runs the `millrace` command on the store, and answers what it printed. */
  millrace(...args: readonly string[]): Promise<string> {
    return runMillrace([...args, '--data', this.#parts.folder])
  }

  /** Stops everything; the answers are exit codes. */
  async stop(): Promise<readonly (number | null)[]> {
    this.book.close()
    this.outbox.close()
    const { webhooks, server } = this.#parts
    const codes: (number | null)[] = []
    for (const program of [webhooks, this.#worker, server]) codes.push(await program.stop())
    return codes
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop()
  }
}
