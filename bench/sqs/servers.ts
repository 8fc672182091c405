/** The measured servers, each in a separate process. */
import { type ChildProcess, spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { DatabaseSync } from 'node:sqlite'
import { fileURLToPath } from 'node:url'
import { openSqlite } from '../../src/backends/sqlite/index.ts'
import { body, fill, queue } from '../load.ts'

export class BenchServer {
  readonly port: number
  readonly url: string
  readonly #child: ChildProcess

  private constructor(child: ChildProcess, url: string) {
    this.#child = child
    this.url = url
    this.port = Number(new URL(url).port)
  }

  get pid(): number {
    return this.#child.pid ?? 0
  }

  static async start(script: string, args: readonly string[] = []): Promise<BenchServer> {
    const file = fileURLToPath(new URL(script, import.meta.url))
    const child = spawn(process.execPath, [file, ...args], { stdio: ['ignore', 'pipe', 'inherit'] })
    return new Promise((resolve, reject) => {
      child.once('exit', () => reject(new Error(`${script} ended before it was ready.`)))
      // Read all output, because a full pipe would stop the server.
      createInterface({ input: child.stdout }).on('line', (line) => {
        const [url] = /http:\/\/[\d.]+:\d+/.exec(line) ?? []
        if (url !== undefined) resolve(new BenchServer(child, url))
      })
    })
  }

  async stop(): Promise<void> {
    const exit = once(this.#child, 'exit')
    this.#child.kill('SIGTERM')
    await exit
  }
}

export function startBare(): Promise<BenchServer> {
  return BenchServer.start('bare.child.ts')
}

/** Durable, as by default. */
export function startMillrace(folder: string): Promise<BenchServer> {
  const options = ['serve', '--port', '0', '--data', folder, '--log', 'error']
  return BenchServer.start('../../src/cli.ts', options)
}

export function startFauxqsServer(dataDir?: string): Promise<BenchServer> {
  return BenchServer.start('fauxqs.child.ts', dataDir === undefined ? [] : [dataDir])
}

/** Sends messages to the store before a server opens it. */
export async function fillStore(folder: string, count: number): Promise<void> {
  mkdirSync(folder, { recursive: true })
  const backend = await openSqlite({ file: join(folder, 'millrace.db') })
  await backend.createQueue({ queue })
  await fill(backend, count)
  await backend.close()
}

/** Writes messages to the file that a persistent fauxqs reads when it starts. */
export function writeFauxqsMessages(dataDir: string, count: number): void {
  const db = new DatabaseSync(join(dataDir, 'fauxqs.db'))
  const md5 = createHash('md5').update(body).digest('hex')
  const insert = db.prepare(`
    WITH RECURSIVE numbers (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < ?)
    INSERT INTO sqs_messages (
      message_id, queue_name, body, md5_of_body, message_attributes, md5_of_message_attributes,
      sent_timestamp
    )
    SELECT lower(hex(randomblob(16))), ?, ?, ?, '{}', '', ? FROM numbers`)
  insert.run(count, queue, body, md5, Date.now())
  db.close()
}
