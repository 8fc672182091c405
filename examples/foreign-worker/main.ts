/** Serves the app, starts the Python worker, enqueues three jobs, and prints how they end. */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { open } from 'millrace'
import { serve } from 'millrace/server'
import { words } from './app.ts'
import { servePages } from './pages.ts'
import { findPython, startWorker } from './python-worker.ts'

const python = findPython()
if (python === undefined) {
  console.error('boto3 is missing: pip install boto3, or apt-get install python3-boto3')
  process.exit(1)
}

const data = await mkdtemp(join(tmpdir(), 'millrace-words-'))
const key = 'a-long-key-of-the-python-worker'
const apiKeys = [{ name: 'python', role: 'worker', key }] as const
const server = await serve({ app: words, data, port: 0, auth: { apiKeys } })
const mill = await open(words, { data })
await using pages = servePages()
await pages.listening()

const { name: queue } = mill.queues.pages
const onLine = (line: string): void => console.log(`[python] ${line}`)
const worker = startWorker(python, { url: server.url, key, queue, onLine })

for (const page of ['mill', 'flaky', 'missing']) {
  const url = `${pages.url}/${page}`
  const { id } = await mill.jobs.enqueue('pages', 'COUNT_WORDS', { url })
  const { status, attemptsMade, result, error } = await mill.jobs.waitFor(id, { timeout: '1m' })
  console.log(`${page}: ${status} at attempt ${attemptsMade},`, result ?? error)
}

await worker.stop()
await mill.close()
await server.stop()
await rm(data, { recursive: true })
