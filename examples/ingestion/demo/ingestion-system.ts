/** The whole system on this machine, in one folder: API, workers, and a stub of Claude. */
import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import { runMillrace } from '../../shared/millrace-command.ts'
import { Program } from '../../shared/program.ts'
import { Callers } from '../callers.ts'
import { readEnvironment } from '../environment.ts'
import { keyFor, openIngestion } from '../open-ingestion.ts'
import { ClaudeStub } from './claude-stub.ts'
import { IngestionClient } from './ingestion-client.ts'

const example = join(import.meta.dirname, '..')
const silent = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} }

export const kbId = 'mills'

export interface SystemSetup {
  readonly folder: string
  /** The URL of a Postgres database, or a folder. */
  readonly store: string
}

export class IngestionSystem {
  readonly claude: ClaudeStub
  readonly lines: string[] = []
  readonly #variables: Readonly<Record<string, string>>
  readonly #programs: Program[] = []

  private constructor(claude: ClaudeStub, variables: Readonly<Record<string, string>>) {
    this.claude = claude
    this.#variables = variables
  }

  /** Creates a knowledge base of the organisation `ada`, and starts no process yet. */
  static async open({ folder, store }: SystemSetup): Promise<IngestionSystem> {
    const claude = await ClaudeStub.start()
    const variables = {
      MILLRACE_STORE: store,
      INGESTION_DATA: folder,
      INGESTION_SECRET: randomBytes(32).toString('hex'),
      // Short for the demo.
      INGESTION_RETRY_MS: '100',
      INGESTION_EXTRACTOR: 'claude',
      ANTHROPIC_API_KEY: 'not-needed-here',
      ANTHROPIC_BASE_URL: claude.url,
    }
    await using ingestion = await openIngestion(readEnvironment(variables), silent)
    await ingestion.library.addKnowledgeBase({ id: kbId, organizationId: 'ada' })
    return new IngestionSystem(claude, variables)
  }

  /** Starts the API, and resolves to clients for members of an organisation. */
  async startApi(
    variables: Readonly<Record<string, string>> = {},
  ): Promise<(organizationId: string) => Promise<IngestionClient>> {
    const api = this.#start(['api.ts'], variables)
    const [, url = ''] = await api.waitForLine(/^api (http:\S+)$/)
    const callers = new Callers(keyFor(readEnvironment(this.#variables), 'tokens'))
    return async (organizationId) => {
      const token = await callers.issue({ userId: 'demo-user', organizationId })
      return new IngestionClient({ url, token })
    }
  }

  async startWorker(...args: readonly string[]): Promise<Program> {
    const worker = this.#start(['worker.ts', ...args])
    await worker.waitForLine(/^worker /)
    return worker
  }

  /** Runs the `millrace` command on the store, and resolves to its output. */
  millrace(...args: readonly string[]): Promise<string> {
    return runMillrace(this.#variables['MILLRACE_STORE'] ?? '', args)
  }

  /** Stops the given processes, or all, and resolves to their exit codes. */
  stop(programs: readonly Program[] = this.#programs): Promise<readonly (number | null)[]> {
    return Promise.all(programs.map((program) => program.stop()))
  }

  #start(file: readonly string[], variables: Readonly<Record<string, string>> = {}): Program {
    const [name = '', ...args] = file
    const program = new Program({
      command: [join(example, name), ...args],
      variables: { ...this.#variables, ...variables },
      onLine: (line) => this.lines.push(line),
    })
    this.#programs.push(program)
    return program
  }
}
