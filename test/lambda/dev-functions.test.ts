/** Functions with a store under `dev`: threads of the server, on the store that it serves. */
import assert from 'node:assert/strict'
import { fileURLToPath } from 'node:url'
import { describe, onTestFinished, test } from 'vitest'
import { open } from '../../src/index.ts'
import type { InvocationReport } from '../../src/server/dev.ts'
import { type RunningDev, startDev } from '../../src/server.ts'
import { freshDatabase } from '../services/fresh-database.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { press } from './press/app.ts'

const file = (name: string): string => fileURLToPath(new URL(`press/${name}`, import.meta.url))

interface Press {
  readonly dev: RunningDev
  readonly store: string
  readonly lines: readonly string[]
  readonly reports: readonly InvocationReport[]
}

async function newFolder(): Promise<string> {
  const folder = await temporaryFolder('press')
  onTestFinished(() => folder.remove())
  return folder.path
}

async function newDatabase(): Promise<string> {
  return (await freshDatabase()).url
}

async function startPress(newStore: () => Promise<string>): Promise<Press> {
  const store = await newStore()
  const lines: string[] = []
  const reports: InvocationReport[] = []
  const dev = await startDev({
    templates: [file('app.ts'), file('serverless.yml')],
    store,
    port: 0,
    environment: { PATH: process.env['PATH'] },
    onLogLine: ({ text }) => void lines.push(text),
    onInvocation: (report) => void reports.push(report),
  })
  onTestFinished(() => dev.stop())
  return { dev, store, lines, reports }
}

describe.each([
  ['in a folder', newFolder],
  ['on Postgres', newDatabase],
])('a function with a store %s', (_place, newStore) => {
  test('opens a flow, retries a unit with backoff, and the last unit finalizes', async () => {
    const { store, lines, reports } = await startPress(newStore)
    await using mill = await open(press, { store, onNotice: () => undefined })
    await mill.queues.books.send({ book: 'b', pages: 3 })
    const [bound] = await mill.queues.bound.receive({ wait: '20s' })
    assert.deepEqual(bound?.message, { book: 'b' }, lines.join('\n'))
    assert.equal((await mill.flows.printing.read('b'))?.status, 'finalized')
    assert.ok(lines.some((text) => text.includes('pages: message') && text.includes('jammed')))
    // The event source finds that the function has settled its messages.
    assert.deepEqual(
      reports.filter(({ lost }) => lost > 0),
      [],
    )
  })

  test('completes a job with its result', async () => {
    const { store } = await startPress(newStore)
    await using mill = await open(press, { store, onNotice: () => undefined })
    const { id } = await mill.jobs.enqueue('work', 'PRINT', { copies: 2 })
    const job = await mill.jobs.waitFor(id, { timeout: '2m' })
    assert.deepEqual([job.status, job.result], ['completed', { sheets: 4 }])
  })
})
