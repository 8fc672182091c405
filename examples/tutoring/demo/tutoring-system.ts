/**
 * The whole system on this machine, in one folder: the server with the queues and functions of serverless.yml and
 * the app, the AI engine, and a stub of Claude. The API is one of the functions.
 */
import { mkdir, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { GetQueueAttributesCommand, SQSClient } from '@aws-sdk/client-sqs'
import { millraceFile, runMillrace } from '../../shared/millrace-command.ts'
import { Program } from '../../shared/program.ts'
import { until } from '../../shared/until.ts'
import { ClaudeStub } from '../claude-stub/claude-stub.ts'
import { awsVariables, localVariables, queueUrl } from './local-variables.ts'

const example = join(import.meta.dirname, '..')
/** The template declares what AWS supports; the app declares the rest. */
const declarations = [join(example, 'serverless.yml'), join(example, 'backend/app.ts')]

/** Enough for two questions, not for three. */
export const tokensPerDay = 1_500

export interface SystemSetup {
  readonly folder: string
  /** The URL of a Postgres database, or a folder. */
  readonly store: string
  readonly onLine?: (line: string) => void
}

export class TutoringSystem implements AsyncDisposable {
  readonly endpoint: string
  readonly apiUrl: string
  readonly claude: ClaudeStub
  readonly #folder: string
  readonly #store: string
  readonly #programs: readonly Program[]

  private constructor(parts: {
    readonly endpoint: string
    readonly apiUrl: string
    readonly claude: ClaudeStub
    readonly folder: string
    readonly store: string
    readonly programs: readonly Program[]
  }) {
    this.endpoint = parts.endpoint
    this.apiUrl = parts.apiUrl
    this.claude = parts.claude
    this.#folder = parts.folder
    this.#store = parts.store
    this.#programs = parts.programs
  }

  static async start({ folder, store, onLine }: SystemSetup): Promise<TutoringSystem> {
    const claude = await ClaudeStub.start()
    const settings = {
      DATABASE_FILE: join(folder, 'innova.db'),
      TELEMETRY_FILE: join(folder, 'telemetry.db'),
      BUCKET_FOLDER: join(folder, 'bucket'),
      ANTHROPIC_BASE_URL: claude.url,
      ANTHROPIC_API_KEY: 'offline',
      LLM_BUDGET_STORE: store,
      LLM_TOKENS_PER_DAY: String(tokensPerDay),
    }
    const start = (command: readonly string[], variables: Record<string, string>): Program =>
      new Program({ command, variables, ...(onLine && { onLine }) })

    const server = start(
      [
        ...[millraceFile, 'dev', ...declarations, '--port', '0'],
        // On AWS a batch may take a minute to fill, which is too long for a demo.
        ...['--param', 'llmBatchingWindow=1'],
      ],
      { ...settings, MILLRACE_STORE: store },
    )
    const [, endpoint = ''] = await server.waitForLine(/listening on (http:\S+)/)
    const [, apiUrl = ''] = await server.waitForLine(/^functions: (http:\S+)$/)
    const variables = { ...settings, ...localVariables(endpoint) }
    const engine = start([join(example, 'ai-engine/main.ts')], variables)
    await engine.waitForLine(/consumes \d+ queues/)
    const programs = [engine, server]
    return new TutoringSystem({ endpoint, apiUrl, claude, folder, store, programs })
  }

  /** Writes to the bucket, like a browser with a signed URL. */
  async upload(key: string, object: Buffer): Promise<void> {
    const file = join(this.#folder, 'bucket', key)
    await mkdir(dirname(file), { recursive: true })
    await writeFile(file, object)
  }

  /** Runs the `millrace` command on the store of the server, and resolves to its output. */
  millrace(...args: readonly string[]): Promise<string> {
    return runMillrace(this.#store, args)
  }

  /** Waits until a queue has a message that can be received. */
  async waitForMessages(queue: string): Promise<void> {
    const credentials = {
      accessKeyId: awsVariables.AWS_ACCESS_KEY_ID,
      secretAccessKey: awsVariables.AWS_SECRET_ACCESS_KEY,
    }
    const { endpoint } = this
    const client = new SQSClient({ region: awsVariables.AWS_REGION, credentials, endpoint })
    const command = new GetQueueAttributesCommand({
      QueueUrl: queueUrl(endpoint, queue),
      AttributeNames: ['ApproximateNumberOfMessages'],
    })
    await until(async () => {
      const { Attributes } = await client.send(command)
      return Number(Attributes?.ApproximateNumberOfMessages) > 0
    }, `${queue} has a message`)
    client.destroy()
  }

  /** Stops everything, and resolves to the exit codes of the processes. */
  async stop(): Promise<readonly (number | null)[]> {
    const codes: (number | null)[] = []
    for (const program of this.#programs) codes.push(await program.stop())
    await this.claude[Symbol.asyncDispose]()
    return codes
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop()
  }
}
