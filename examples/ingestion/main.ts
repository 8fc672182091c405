/**
 * The ingestion system with one command: starts the API and two workers as processes, uploads a PDF and a
 * DOCX, searches them, lets things go wrong and repairs them, and stops everything.
 */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { IngestionSystem } from './demo/ingestion-system.ts'
import * as story from './demo/story.ts'

const tell = (line: string): void => console.log(line)

const folder = await mkdtemp(join(tmpdir(), 'millrace-ingestion-'))
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(1))
const system = await IngestionSystem.open(folder)
try {
  await play()
} catch (error) {
  console.error(system.lines.join('\n'))
  console.error(`Everything is kept in ${folder}`)
  throw error
} finally {
  await system.stop()
  await system.claude[Symbol.asyncDispose]()
}
await rm(folder, { recursive: true })
tell('Everything is as it should be.')

async function play(): Promise<void> {
  const clientOf = await system.startApi()
  const workers = await Promise.all([
    system.startWorker('ingest', 'finalize', 'janitor'),
    system.startWorker('extract'),
  ])
  tell('Started the API, a worker that prepares and finalizes, and one that extracts.')
  const member = await clientOf('ada')
  await story.uploadAndSearch(member, tell)
  story.tellCosts(system, tell)
  await story.uploadLong(system, member, tell)
  await story.refuse({ member, stranger: await clientOf('bob') }, tell)
  await story.failAndReplay(system, member, tell)
  tell(`Stopped the workers, exit codes ${(await system.stop(workers)).join(', ')}.`)
  await story.drainBacklog(system, member, tell)
  await system.stop()

  const alone = await system.startApi({ INGESTION_RUNTIME: 'inline' })
  await story.runInline(await alone('ada'), tell)
}
