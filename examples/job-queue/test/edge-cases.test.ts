/** The edge cases of the specification that need no separate process. The others are in processes.test.ts. */
import assert from 'node:assert/strict'
import { rmSync, writeFileSync } from 'node:fs'
import { describe, test } from 'vitest'
import { canMount, withMounted } from '../../../test/support/mounting.ts'
import { inTemporaryFolder } from '../../../test/support/temporary-folder.ts'
import { drawPage } from '../../shared/draw-page.ts'
import { isOnPostgres } from '../../shared/test/store.ts'
import { until } from '../../shared/until.ts'
import { type BreakableStore, brokenStore } from './breakable-store.ts'
import {
  ada,
  addDocument,
  type Fixture,
  type LogLine,
  openFixture,
  secretMark,
  staff,
  turn,
} from './fixture.ts'

describe('edge cases', () => {
  test('Edge case: duplicate enqueue requests: fifty at once are one job and one effect', async () => {
    const fixture = await openFixture()
    const note = { user_id: 'ada', kind: 'message' } as const
    const answers = await Promise.all(
      Array.from({ length: 50 }, () =>
        fixture.queue.enqueueNotificationJob(note, { idempotencyKey: 'note-1', owner: 'ada' }),
      ),
    )
    const ids = new Set(answers.map(({ job_id }) => job_id))
    assert.equal(ids.size, 1)
    fixture.startWorker()
    for (const id of ids) await fixture.mill.jobs.waitFor(id)
    assert.equal(fixture.services.notifications.listOf('ada').length, 1)
  })

  test('Edge case: Redis disconnect (here: the store is locked or gone): API and worker report errors without secrets, and recover', async () => {
    const fixture = await openFixture({ busyTimeoutMs: 200 })
    const ask = await (await fixture.startApi()).as(staff)
    const repair = fixture.store.break()
    fixture.startWorker()
    const email = { payload: { to: 'ada@example.com', template: 'welcome' } }
    assert.equal((await ask('POST', '/jobs/email_queue', email)).status, 503)
    const isClaimFailure = (line: LogLine): boolean => line.message === 'work could not be claimed'
    while (!fixture.lines.some(isClaimFailure)) await turn()
    const unready = await ask('GET', '/readyz')
    assert.equal(unready.status, 503)
    assert.equal((await ask('GET', '/healthz')).status, 200)
    const said = fixture.lines.map(({ level, message }) => `${level}: ${message}`)
    assert.ok(said.includes('error: request failed') && said.includes('error: not ready'))

    await repair()
    while ((await ask('GET', '/readyz')).status !== 200) await turn()
    const { body } = await ask('POST', '/jobs/email_queue', email)
    assert.equal((await fixture.mill.jobs.waitFor(String(body['job_id']))).status, 'completed')
    assert.ok(!JSON.stringify([fixture.lines, unready.text]).includes(secretMark))
  })

  // A test cannot fill the disk of the shared database server.
  test.skipIf(!canMount || isOnPostgres())(
    'Edge case: Redis eviction policy (here: a full disk): new jobs are refused, and no accepted job is lost',
    () =>
      inTemporaryFolder('job-queue-full', (folder) =>
        withMounted(
          ['-t', 'tmpfs', '-o', 'size=8m', 'tmpfs'],
          folder.file('disk'),
          async (disk) => {
            const fixture = await openFixture({ variables: { DATA_DIR: disk } })
            const accepted: string[] = []
            writeFileSync(`${disk}/ballast`, Buffer.alloc(4 * 2 ** 20))
            const entity_id = 'e'.repeat(100)
            const fillUp = async (): Promise<void> => {
              for (;;) {
                const note = { user_id: 'ada', kind: 'message', entity_id } as const
                const { job_id } = await fixture.queue.enqueueNotificationJob(note)
                accepted.push(job_id)
              }
            }
            await assert.rejects(fillUp(), { code: 'store_full' })
            assert.ok(accepted.length > 100, `only ${accepted.length} fitted`)
            const { ready } = await fixture.mill.queues.notification_queue.statistics()
            assert.equal(ready, accepted.length)

            rmSync(`${disk}/ballast`)
            fixture.startWorker()
            for (const id of accepted) {
              assert.equal((await fixture.mill.jobs.waitFor(id)).status, 'completed')
            }
          },
        ),
      ),
  )

  test('Edge case: DB status update failure: a job completes only when its status is saved, and its effect happens once', async () => {
    const broken = Promise.withResolvers<() => Promise<void>>()
    let store: BreakableStore | undefined
    const recognition = {
      async read() {
        broken.resolve(store?.break() ?? assert.fail())
        return { text: 'the mill wheel', confidence: 1 }
      },
    }
    const fixture = await openFixture({ busyTimeoutMs: 100, replace: { recognition } })
    store = fixture.store
    const id = await addDocument(fixture, 'Scan')
    const { job_id } = await fixture.queue.enqueueOcrJob({ document_id: id })
    fixture.startWorker()
    const repair = await broken.promise
    // Enqueued after the attempted settlement, so it fails after it.
    await assert.rejects(fixture.queue.enqueueOcrJob({ document_id: id }), { code: brokenStore })
    assert.equal(fixture.services.documents.find(id)?.text, 'the mill wheel')
    // A locked store can still be read.
    const read = isOnPostgres() ? null : await fixture.mill.jobs.get(job_id)
    assert.ok(read === null || read?.status === 'processing')

    await repair()
    const canRead = (): Promise<boolean> =>
      fixture.mill.ready().then(
        () => true,
        () => false,
      )
    await until(canRead, 'the store can be used again')
    const job = await fixture.mill.jobs.waitFor(job_id)
    assert.deepEqual([job.status, job.attemptsMade], ['completed', 1])
    assert.equal((await fixture.mill.jobs.list('indexing_queue')).items.length, 1)
  })

  test('Edge case: poison jobs: a job that always fails uses up its attempts and becomes failed', async () => {
    const fixture = await openFixture()
    const ask = await (await fixture.startApi()).as(ada)
    const broken = new Uint8Array(await drawPage(['x'])).fill(0, 40)
    const { body } = await ask('POST', '/documents?title=Broken', broken)
    fixture.startWorker()
    const job = await fixture.mill.jobs.waitFor(String(body['job_id']))
    assert.deepEqual([job.status, job.attemptsMade], ['failed', 3])
    assert.ok(job.error)
    const { ready, leased, delayed } = await fixture.mill.queues.ocr_queue.statistics()
    assert.deepEqual([ready, leased, delayed], [0, 0, 0])
    const { items } = await fixture.mill.queues.dead_letters.peek()
    assert.deepEqual(
      items.map(({ deadLetterOrigin: deadLetter }) => deadLetter?.source),
      ['ocr_queue'],
    )
  })

  test('Edge case: large payloads: a job with content is refused, and an upload enqueues only an id', async () => {
    const fixture = await openFixture()
    const api = await fixture.startApi()
    const asStaff = await api.as(staff)
    const content = { document_id: 'd', content: 'x'.repeat(2_000) }
    assert.equal((await asStaff('POST', '/jobs/ocr_queue', { payload: content })).status, 400)
    const id = { document_id: 'x'.repeat(5_000) }
    assert.equal((await asStaff('POST', '/jobs/ocr_queue', { payload: id })).status, 400)
    assert.equal((await fixture.mill.jobs.list('ocr_queue')).items.length, 0)

    const page = new Uint8Array(2 * 2 ** 20)
    const { status, body } = await (await api.as(ada))('POST', '/documents?title=Large', page)
    assert.equal(status, 202)
    const job = await fixture.mill.jobs.get(String(body['job_id']))
    assert.deepEqual(job?.payload, { document_id: body['document_id'] })
    const tooLarge = new Uint8Array(11 * 2 ** 20)
    assert.equal((await (await api.as(ada))('POST', '/documents?title=X', tooLarge)).status, 413)
  })

  test('Edge case: deleted target entity: OCR of a deleted document fails without retries, and a notification to a deleted user is dropped', async () => {
    const fixture = await openFixture()
    const id = await addDocument(fixture, 'Scan')
    const ocr = await fixture.queue.enqueueOcrJob({ document_id: id })
    const note = await fixture.queue.enqueueNotificationJob({ user_id: 'bob', kind: 'message' })
    await fixture.services.documents.delete(id)
    fixture.services.users.delete('bob')
    fixture.startWorker()
    const failed = await fixture.mill.jobs.waitFor(ocr.job_id)
    assert.deepEqual([failed.status, failed.attemptsMade], ['failed', 1])
    assert.match(failed.error ?? '', /The document has been deleted\./)
    const dropped = await fixture.mill.jobs.waitFor(note.job_id)
    assert.deepEqual([dropped.status, dropped.result], ['completed', { outcome: 'user_gone' }])
    assert.deepEqual(fixture.services.notifications.listOf('bob'), [])
    assert.ok(fixture.lines.some(({ message }) => message.includes('the user was deleted')))
  })

  test('Edge case: out-of-order jobs: indexing before OCR uses the title, and OCR enqueues it again', async () => {
    const gate = Promise.withResolvers<void>()
    const recognition = {
      async read() {
        await gate.promise
        return { text: 'the mill wheel', confidence: 1 }
      },
    }
    const fixture = await openFixture({ replace: { recognition } })
    const ask = await (await fixture.startApi()).as(ada)
    const { body } = await ask('POST', '/documents?title=Scan', new Uint8Array([1]))
    const id = String(body['document_id'])
    fixture.startWorker()
    const [early] = (await fixture.mill.jobs.list('indexing_queue')).items
    const title = await fixture.mill.jobs.waitFor(early?.id ?? '')
    assert.deepEqual(title.result, { indexed: 'title' })
    assert.deepEqual([found(fixture, 'scan'), found(fixture, 'wheel')], [[id], []])

    gate.resolve()
    await fixture.mill.jobs.waitFor(String(body['job_id']))
    const [late, ...others] = (await fixture.mill.jobs.list('indexing_queue')).items
    assert.equal(others.length, 1)
    const text = await fixture.mill.jobs.waitFor(late?.id ?? '')
    assert.deepEqual(text.result, { indexed: 'title and text' })
    assert.deepEqual(found(fixture, 'wheel'), [id])
  })

  test('Edge case: sensitive data: job rows and logs contain no secrets, tokens or private content', async () => {
    const fixture = await openFixture()
    const ask = await (await fixture.startApi()).as(ada)
    const page = await drawPage(['strictly private words'])
    const { body } = await ask('POST', '/documents?title=Scan', page)
    fixture.mailbox.refusal = `login failed for smtp://user:${secretMark}@mail.example token=${secretMark}`
    const email = await fixture.queue.enqueueEmailJob({
      to: 'ada@example.com',
      template: 'welcome',
    })
    fixture.startWorker()
    await fixture.mill.jobs.waitFor(String(body['job_id']))
    await fixture.mill.jobs.waitFor(email.job_id)
    const names = ['ocr_queue', 'indexing_queue', 'email_queue'] as const
    const pages = await Promise.all(names.map((name) => fixture.mill.jobs.list(name)))
    const rows = JSON.stringify(pages)
    const logs = JSON.stringify(fixture.lines)
    for (const text of [rows, logs]) {
      assert.doesNotMatch(text, new RegExp(`private|words|Bearer|${secretMark}`))
    }
    assert.doesNotMatch(logs, /ada@example\.com/)
    assert.match(
      fixture.services.documents.find(String(body['document_id']))?.text ?? '',
      /private/,
    )
  })
})

function found({ services }: Fixture, words: string): readonly string[] {
  return services.search.search({ owner: 'ada', words }).map(({ entityId }) => entityId)
}
