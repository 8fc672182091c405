/**
 * Runs the demo with one command: starts the API and two workers as processes, uploads a PDF and a DOCX, searches
 * them, provokes failures and repairs them, and stops everything.
 */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { IngestionSystem } from './demo/ingestion-system.ts'
import * as story from './demo/scenario.ts'

const print = (line: string): void => console.log(line)

const folder = await mkdtemp(join(tmpdir(), 'millrace-ingestion-'))
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(1))
const store = process.env['MILLRACE_STORE'] || join(folder, 'queues')
const system = await IngestionSystem.open({ folder, store })
try {
  await play()
} catch (error) {
  console.error(system.lines.join('\n'))
  console.error(`The data folder is ${folder}`)
  throw error
} finally {
  await system.stop()
  await system.claude[Symbol.asyncDispose]()
}
await rm(folder, { recursive: true })
print('All checks passed.')

async function play(): Promise<void> {
  const clientOf = await system.startApi()
  const workers = await Promise.all([
    system.startWorker('ingest', 'finalize', 'janitor'),
    system.startWorker('extract'),
  ])
  print('Started the API, a worker that prepares and finalizes, and one that extracts.')
  const member = await clientOf('ada')
  await story.uploadAndSearch(member, print)
  story.tellCosts(system, print)
  await story.uploadLong(system, member, print)
  await story.refuse({ member, stranger: await clientOf('bob') }, print)
  await story.failAndReplay(system, member, print)
  print(`Stopped the workers, exit codes ${(await system.stop(workers)).join(', ')}.`)
  await story.drainBacklog(system, member, print)
  await system.stop()

  const alone = await system.startApi({ INGESTION_RUNTIME: 'inline' })
  await story.runInline(await alone('ada'), print)
}
