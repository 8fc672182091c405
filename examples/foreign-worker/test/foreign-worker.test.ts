/** The Python worker against a real server: success, retry, failure, progress, heartbeats, a lost lease. */
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { type Mill, open } from 'millrace'
import { serve } from 'millrace/server'
import { describe, onTestFinished, test } from 'vitest'
import { startCommand } from '../../../test/support/cli-process.ts'
import { temporaryFolder } from '../../../test/support/temporary-folder.ts'
import { LocalServer } from '../../shared/local-server.ts'
import { until } from '../../shared/until.ts'
import { words } from '../app.ts'
import { findPython, startWorker } from '../python-worker.ts'

describe('the program', () => {
  test('counts words in Python, retries, and fails at once where it must', async () => {
    const main = join(import.meta.dirname, '..', 'main.ts')
    const { code, stdout, stderr } = await startCommand(process.execPath, [main]).ended
    assert.deepEqual([code, stderr], [0, ''])
    assert.match(stdout, /^mill: completed at attempt 1, { words: 8, longest: 'millrace' }$/m)
    assert.match(stdout, /is pending: HTTP Error 503/)
    assert.match(stdout, /^flaky: completed at attempt 2, { words: 2, longest: 'again\.' }$/m)
    assert.match(stdout, /^missing: failed at attempt 1, Hopeless: There is no such page\.$/m)
  })
})

const key = 'a-long-key-of-the-python-worker'

interface Scene {
  readonly mill: Mill<typeof words>
  readonly data: string
  readonly pid: number
  readonly lines: readonly string[]
  readonly url: string
  /** Resolves when the worker has asked for the page. */
  readonly asked: Promise<void>
  /** Lets the page arrive. */
  arrive(): void
}

/** A worker with leases of two seconds, and a page that arrives when the test lets it. */
async function openScene(): Promise<Scene> {
  const python = findPython() ?? assert.fail('boto3 is missing')
  const folder = await temporaryFolder('foreign-worker')
  const data = folder.file('data')
  const apiKeys = [{ name: 'python', role: 'worker', key }] as const
  const server = await serve({ app: words, data, port: 0, auth: { apiKeys } })
  const mill = await open(words, { data })
  const { promise: asked, resolve: isAsked } = Promise.withResolvers<void>()
  const { promise: page, resolve: arrive } = Promise.withResolvers<void>()
  const pages = new LocalServer(async () => {
    isAsked()
    await page
    return new Response('one two three')
  })
  await pages.listening()
  const lines: string[] = []
  const onLine = (line: string): void => void lines.push(line)
  const { name: queue } = mill.queues.pages
  const worker = startWorker(python, { url: server.url, key, queue, leaseSeconds: 2, onLine })
  onTestFinished(async () => {
    arrive()
    await worker.stop()
    await mill.close()
    await server.stop()
    await pages[Symbol.asyncDispose]()
    await folder.remove()
  })
  return { mill, data, pid: worker.pid, lines, url: `${pages.url}/page`, asked, arrive }
}

describe('the worker', () => {
  test('extends its lease while it works, and reports progress and the result', async () => {
    const { mill, url, asked, arrive, lines } = await openScene()
    const { id } = await mill.jobs.enqueue('pages', 'COUNT_WORDS', { url })
    await asked
    const { startedAt = 0, progress } = (await mill.jobs.get(id)) ?? {}
    assert.equal(progress, 0.1)
    const deadline = async (): Promise<number> =>
      (await mill.queues.pages.peek({ state: 'leased' })).items[0]?.dueAt ?? 0
    await until(
      async () => (await deadline()) > Number(startedAt) + 3_000,
      'the lease is extended twice',
    )
    arrive()
    const job = await mill.jobs.waitFor(id)
    assert.deepEqual(
      [job.status, job.attemptsMade, job.result],
      ['completed', 1, { words: 3, longest: 'three' }],
    )
    await until(() => lines.some((line) => line.endsWith('completed')), 'the worker is told so')
  })

  test('changes nothing after another has received its job', async () => {
    const { mill, url, asked, arrive, lines, pid, data } = await openScene()
    const { id } = await mill.jobs.enqueue('pages', 'COUNT_WORDS', { url })
    await asked
    process.kill(pid, 'SIGSTOP')
    // Another process gets the job when the lease of the stopped one has ended.
    const other = await open(words, { data })
    const handling = Promise.withResolvers<void>()
    const handled = Promise.withResolvers<{ words: number; longest: string }>()
    const worker = other.worker({
      poll: ['pages'],
      handle: {
        COUNT_WORDS: () => {
          handling.resolve()
          return handled.promise
        },
      },
    })
    onTestFinished(() => other.close())
    worker.start()
    await handling.promise
    arrive()
    process.kill(pid, 'SIGCONT')
    await until(() => lines.some((line) => line.endsWith('is no longer ours')), 'it stops')
    assert.equal((await mill.jobs.get(id))?.status, 'processing')
    handled.resolve({ words: 0, longest: '' })
    const job = await mill.jobs.waitFor(id)
    assert.deepEqual([job.attemptsMade, job.result], [2, { words: 0, longest: '' }])
    const attempts = await mill.jobs.attempts(id)
    assert.deepEqual(
      attempts.map(({ outcome }) => outcome),
      ['lapsed', 'completed'],
    )
  })

  test('learns that its job was cancelled', async () => {
    const { mill, url, asked, arrive, lines } = await openScene()
    const { id } = await mill.jobs.enqueue('pages', 'COUNT_WORDS', { url })
    await asked
    await mill.jobs.cancel(id)
    arrive()
    await until(() => lines.some((line) => line.endsWith('is no longer ours')), 'it stops')
    assert.equal((await mill.jobs.get(id))?.status, 'cancelled')
  })
})
