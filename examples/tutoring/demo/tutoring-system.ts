/**
 * The whole system on this machine, in a folder of its own: the server with the queues and functions of
 * serverless.yml and of the app, the API, the AI engine, and what stands in for Claude.
 */
import { mkdir, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { GetQueueAttributesCommand, SQSClient } from '@aws-sdk/client-sqs'
import { millraceFile, runMillrace } from '../../shared/millrace-command.ts'
import { Program } from '../../shared/program.ts'
import { until } from '../../shared/until.ts'
import { ClaudeStandIn } from '../claude-stand-in/claude-stand-in.ts'
import { awsVariables, localVariables, queueUrl } from './local-variables.ts'

const example = join(import.meta.dirname, '..')
/** Of one stack: what AWS has a word for, and the rest. */
const declarations = [join(example, 'serverless.yml'), join(example, 'backend/app.ts')]

/** Two questions cost less, and three cost more. */
export const tokensPerDay = 1_500

export interface SystemSetup {
  readonly folder: string
  readonly onLine?: (line: string) => void
  /** For the functions and the AI engine alike. */
  readonly variables?: Readonly<Record<string, string>>
}

export class TutoringSystem implements AsyncDisposable {
  readonly endpoint: string
  readonly apiUrl: string
  readonly claude: ClaudeStandIn
  readonly variables: Readonly<Record<string, string>>
  readonly #folder: string
  readonly #programs: readonly Program[]

  private constructor(parts: {
    readonly endpoint: string
    readonly apiUrl: string
    readonly claude: ClaudeStandIn
    readonly variables: Readonly<Record<string, string>>
    readonly folder: string
    readonly programs: readonly Program[]
  }) {
    this.endpoint = parts.endpoint
    this.apiUrl = parts.apiUrl
    this.claude = parts.claude
    this.variables = parts.variables
    this.#folder = parts.folder
    this.#programs = parts.programs
  }

  static async start({ folder, onLine, variables: more }: SystemSetup): Promise<TutoringSystem> {
    const data = join(folder, 'store')
    const claude = await ClaudeStandIn.start()
    const settings = {
      DATABASE_FILE: join(folder, 'innova.db'),
      TELEMETRY_FILE: join(folder, 'telemetry.db'),
      BUCKET_FOLDER: join(folder, 'bucket'),
      ANTHROPIC_BASE_URL: claude.url,
      ANTHROPIC_API_KEY: 'offline',
      LLM_BUDGET_STORE: data,
      LLM_TOKENS_PER_DAY: String(tokensPerDay),
      ...more,
    }
    const start = (command: readonly string[], variables: Record<string, string>): Program =>
      new Program({ command, variables, ...(onLine && { onLine }) })

    const server = start(
      [
        ...[millraceFile, 'dev', ...declarations, '--data', data, '--port', '0'],
        // On AWS a batch may take a minute to fill. Nobody wants to watch that.
        ...['--param', 'llmBatchingWindow=1'],
      ],
      settings,
    )
    const [, endpoint = ''] = await server.said(/listening on (http:\S+)/)
    const variables = { ...settings, ...localVariables(endpoint), PORT: '0' }
    const api = start([join(example, 'backend/serve.ts')], variables)
    const engine = start([join(example, 'ai-engine/main.ts')], variables)
    const [, apiUrl = ''] = await api.said(/^api (http:\S+)$/)
    await engine.said(/consumes \d+ queues/)
    const programs = [api, engine, server]
    return new TutoringSystem({ endpoint, apiUrl, claude, variables, folder, programs })
  }

  get dataDirectory(): string {
    return join(this.#folder, 'store')
  }

  /** As a browser would, with a URL that was signed for it. */
  async upload(key: string, object: Buffer): Promise<void> {
    const file = join(this.#folder, 'bucket', key)
    await mkdir(dirname(file), { recursive: true })
    await writeFile(file, object)
  }

  /** Runs the `millrace` command on the store of the server, and answers what it printed. */
  millrace(...args: readonly string[]): Promise<string> {
    return runMillrace([...args, '--data', this.dataDirectory])
  }

  /** Waits until a queue has a message that could be received. */
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

  /** Ends everything in good order; answers the exit codes of the three processes. */
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
