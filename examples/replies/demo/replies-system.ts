/**
 * The whole system on this machine, in one folder: the deployed template, the server with the SQS endpoint
 * and the alarms, the webhooks, and a worker.
 */
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { millraceFile, runMillrace } from '../../shared/millrace-command.ts'
import { Program } from '../../shared/program.ts'
import { Outbox } from '../answering/outbox.ts'
import { ConversationStore } from '../conversations/conversation-store.ts'
import { Provider } from './provider.ts'
import { sampleConversations } from './sample-conversations.ts'

const example = join(import.meta.dirname, '..')
export const template: string = join(example, 'template.yaml')

export interface SystemSetup {
  readonly folder: string
  /** The URL of a Postgres database, or a folder. */
  readonly store: string
  readonly onLine?: (line: string) => void
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
  readonly store: string
  readonly server: Program
  readonly webhooks: Program
  readonly worker: Program
  readonly startWorker: (more: Variables) => Promise<Program>
}

export class RepliesSystem implements AsyncDisposable {
  /** The SQS endpoint. */
  readonly endpoint: string
  /** Calls the webhooks with valid signatures. */
  readonly provider: Provider
  readonly conversations: ConversationStore
  readonly outbox: Outbox
  readonly #parts: Parts
  #worker: Program

  private constructor(parts: Parts) {
    this.endpoint = parts.endpoint
    this.provider = parts.provider
    this.#parts = parts
    this.#worker = parts.worker
    this.conversations = new ConversationStore(join(parts.folder, 'conversations.db'))
    this.outbox = new Outbox(join(parts.folder, 'answers.db'))
  }

  static async start({ folder, store, onLine }: SystemSetup): Promise<RepliesSystem> {
    await mkdir(folder, { recursive: true })
    const conversations = new ConversationStore(join(folder, 'conversations.db'))
    for (const conversation of sampleConversations) conversations.add(conversation)
    conversations.close()
    const variables = { ...secrets, MILLRACE_STORE: store, REPLIES_DATA: folder, PORT: '0' }
    const start = (command: readonly string[], own: Variables = {}): Program =>
      new Program({ command, variables: { ...variables, ...own }, ...(onLine && { onLine }) })
    const startWorker = async (own: Variables): Promise<Program> => {
      const program = start([join(example, 'run-worker.ts')], own)
      await program.waitForLine(/^worker ready$/)
      return program
    }

    const up = start([millraceFile, 'up', template])
    if ((await up.ended) !== 0) throw new Error(`millrace up failed:\n${up.output}`)
    const server = start([millraceFile, 'serve', '--port', '0'])
    const webhooks = start([join(example, 'serve-webhooks.ts')])
    const worker = await startWorker({})
    const [, endpoint = ''] = await server.waitForLine(/(http:\/\/[\d.]+:\d+)/)
    const [, url = ''] = await webhooks.waitForLine(/^webhooks (http:\S+)$/)
    const { TWILIO_AUTH_TOKEN: twilioAuthToken, EMAIL_WEBHOOK_SECRET: emailSecret } = secrets
    const provider = new Provider({ url, twilioAuthToken, emailSecret })
    return new RepliesSystem({
      ...{ endpoint, provider, folder, store, startWorker },
      ...{ server, webhooks, worker },
    })
  }

  /** Replaces the running worker by one with other settings. */
  async replaceWorker(variables: Variables): Promise<void> {
    await this.#worker.stop()
    this.#worker = await this.#parts.startWorker(variables)
  }

  /** Runs the `millrace` command on the store, and resolves to its output. */
  millrace(...args: readonly string[]): Promise<string> {
    return runMillrace(this.#parts.store, args)
  }

  /** Stops all processes, and resolves to their exit codes. */
  async stop(): Promise<readonly (number | null)[]> {
    this.conversations.close()
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
