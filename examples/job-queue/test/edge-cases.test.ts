/** The edge cases of the document that need no process of their own; the others are in processes.test.ts. */
import assert from 'node:assert/strict'
import { rmSync, writeFileSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import { describe, test } from 'vitest'
import { canMount, withMounted } from '../../../test/support/mounting.ts'
import { inTemporaryFolder } from '../../../test/support/temporary-folder.ts'
import { drawPage } from '../../shared/draw-page.ts'
import {
  ada,
  addDocument,
  type LogLine,
  openScene,
  type Scene,
  secretMark,
  staff,
  turn,
} from './scene.ts'

describe('edge cases', () => {
  test('Edge case: duplicate enqueue requests: fifty at once are one job and one effect', async () => {
    const scene = await openScene()
    const note = { user_id: 'ada', kind: 'message' } as const
    const answers = await Promise.all(
      Array.from({ length: 50 }, () =>
        scene.queue.enqueueNotificationJob(note, { idempotencyKey: 'note-1', owner: 'ada' }),
      ),
    )
    const ids = new Set(answers.map(({ job_id }) => job_id))
    assert.equal(ids.size, 1)
    scene.startWorker()
    for (const id of ids) await scene.mill.jobs.waitFor(id)
    assert.equal(scene.services.notifications.listOf('ada').length, 1)
  })

  test('Edge case: Redis disconnect (here: the store is held by somebody else): API and worker fail visibly, tell no secret, and recover', async () => {
    const scene = await openScene({ busyTimeoutMs: 200 })
    const ask = await (await scene.startApi()).as(staff)
    using intruder = new DatabaseSync(scene.store)
    intruder.exec('BEGIN IMMEDIATE')
    scene.startWorker()
    const email = { payload: { to: 'ada@example.com', template: 'welcome' } }
    assert.equal((await ask('POST', '/jobs/email_queue', email)).status, 503)
    const isClaimFailure = (line: LogLine): boolean => line.message === 'work could not be claimed'
    while (!scene.lines.some(isClaimFailure)) await turn()
    const unready = await ask('GET', '/readyz')
    assert.equal(unready.status, 503)
    assert.equal((await ask('GET', '/healthz')).status, 200)
    const said = scene.lines.map(({ level, message }) => `${level}: ${message}`)
    assert.ok(said.includes('error: request failed') && said.includes('error: not ready'))

    intruder.exec('ROLLBACK')
    while ((await ask('GET', '/readyz')).status !== 200) await turn()
    const { body } = await ask('POST', '/jobs/email_queue', email)
    assert.equal((await scene.mill.jobs.waitFor(String(body['job_id']))).status, 'completed')
    assert.ok(!JSON.stringify([scene.lines, unready.text]).includes(secretMark))
  })

  test.skipIf(!canMount)(
    'Edge case: Redis eviction policy (here: a full disk): what does not fit is refused, nothing accepted is lost',
    () =>
      inTemporaryFolder('job-queue-full', (folder) =>
        withMounted(
          ['-t', 'tmpfs', '-o', 'size=8m', 'tmpfs'],
          folder.file('disk'),
          async (disk) => {
            const scene = await openScene({ variables: { DATA_DIR: disk } })
            const accepted: string[] = []
            writeFileSync(`${disk}/ballast`, Buffer.alloc(4 * 2 ** 20))
            const entity_id = 'e'.repeat(100)
            const fillUp = async (): Promise<void> => {
              for (;;) {
                const note = { user_id: 'ada', kind: 'message', entity_id } as const
                const { job_id } = await scene.queue.enqueueNotificationJob(note)
                accepted.push(job_id)
              }
            }
            await assert.rejects(fillUp(), { code: 'store_full' })
            assert.ok(accepted.length > 100, `only ${accepted.length} fitted`)
            const { ready } = await scene.mill.queues.notification_queue.statistics()
            assert.equal(ready, accepted.length)

            rmSync(`${disk}/ballast`)
            scene.startWorker()
            for (const id of accepted) {
              assert.equal((await scene.mill.jobs.waitFor(id)).status, 'completed')
            }
          },
        ),
      ),
  )

  test('Edge case: DB status update failure: a job is not completed before that is saved, and its effect stays one', async () => {
    const held = Promise.withResolvers<void>()
    let intruder: DatabaseSync | undefined
    const recognition = {
      async read() {
        intruder?.exec('BEGIN IMMEDIATE')
        held.resolve()
        return { text: 'the mill wheel', confidence: 1 }
      },
    }
    const scene = await openScene({ busyTimeoutMs: 100, replace: { recognition } })
    using connection = new DatabaseSync(scene.store)
    intruder = connection
    const id = await addDocument(scene, 'Scan')
    const { job_id } = await scene.queue.enqueueOcrJob({ document_id: id })
    scene.startWorker()
    await held.promise
    // What is enqueued after the settlement was tried fails after it has failed.
    await assert.rejects(scene.queue.enqueueOcrJob({ document_id: id }), { code: 'store_busy' })
    assert.equal(scene.services.documents.find(id)?.text, 'the mill wheel')
    assert.equal((await scene.mill.jobs.get(job_id))?.status, 'processing')

    connection.exec('ROLLBACK')
    const job = await scene.mill.jobs.waitFor(job_id)
    assert.deepEqual([job.status, job.attemptsMade], ['completed', 1])
    assert.equal((await scene.mill.jobs.list('indexing_queue')).items.length, 1)
  })

  test('Edge case: poison jobs: what can never work exhausts its attempts and becomes failed', async () => {
    const scene = await openScene()
    const ask = await (await scene.startApi()).as(ada)
    const broken = new Uint8Array(await drawPage(['x'])).fill(0, 40)
    const { body } = await ask('POST', '/documents?title=Broken', broken)
    scene.startWorker()
    const job = await scene.mill.jobs.waitFor(String(body['job_id']))
    assert.deepEqual([job.status, job.attemptsMade], ['failed', 3])
    assert.ok(job.error)
    const { ready, leased, delayed } = await scene.mill.queues.ocr_queue.statistics()
    assert.deepEqual([ready, leased, delayed], [0, 0, 0])
    const { items } = await scene.mill.queues.dead_letters.peek()
    assert.deepEqual(
      items.map(({ deadLetterOrigin: deadLetter }) => deadLetter?.source),
      ['ocr_queue'],
    )
  })

  test('Edge case: large payloads: content is refused in a job, and an upload puts only an id in one', async () => {
    const scene = await openScene()
    const api = await scene.startApi()
    const asStaff = await api.as(staff)
    const content = { document_id: 'd', content: 'x'.repeat(2_000) }
    assert.equal((await asStaff('POST', '/jobs/ocr_queue', { payload: content })).status, 400)
    const id = { document_id: 'x'.repeat(5_000) }
    assert.equal((await asStaff('POST', '/jobs/ocr_queue', { payload: id })).status, 400)
    assert.equal((await scene.mill.jobs.list('ocr_queue')).items.length, 0)

    const page = new Uint8Array(2 * 2 ** 20)
    const { status, body } = await (await api.as(ada))('POST', '/documents?title=Large', page)
    assert.equal(status, 202)
    const job = await scene.mill.jobs.get(String(body['job_id']))
    assert.deepEqual(job?.payload, { document_id: body['document_id'] })
    const tooLarge = new Uint8Array(11 * 2 ** 20)
    assert.equal((await (await api.as(ada))('POST', '/documents?title=X', tooLarge)).status, 413)
  })

  test('Edge case: deleted target entity: OCR of a deleted document fails at once, a notification to a deleted user is dropped', async () => {
    const scene = await openScene()
    const id = await addDocument(scene, 'Scan')
    const ocr = await scene.queue.enqueueOcrJob({ document_id: id })
    const note = await scene.queue.enqueueNotificationJob({ user_id: 'bob', kind: 'message' })
    await scene.services.documents.delete(id)
    scene.services.users.delete('bob')
    scene.startWorker()
    const failed = await scene.mill.jobs.waitFor(ocr.job_id)
    assert.deepEqual([failed.status, failed.attemptsMade], ['failed', 1])
    assert.match(failed.error ?? '', /The document has been deleted\./)
    const dropped = await scene.mill.jobs.waitFor(note.job_id)
    assert.deepEqual([dropped.status, dropped.result], ['completed', { outcome: 'user_gone' }])
    assert.deepEqual(scene.services.notifications.listOf('bob'), [])
    assert.ok(scene.lines.some(({ message }) => message.includes('the user is gone')))
  })

  test('Edge case: out-of-order jobs: indexing before OCR takes what is there, and OCR has it done again', async () => {
    const gate = Promise.withResolvers<void>()
    const recognition = {
      async read() {
        await gate.promise
        return { text: 'the mill wheel', confidence: 1 }
      },
    }
    const scene = await openScene({ replace: { recognition } })
    const ask = await (await scene.startApi()).as(ada)
    const { body } = await ask('POST', '/documents?title=Scan', new Uint8Array([1]))
    const id = String(body['document_id'])
    scene.startWorker()
    const [early] = (await scene.mill.jobs.list('indexing_queue')).items
    const title = await scene.mill.jobs.waitFor(early?.id ?? '')
    assert.deepEqual(title.result, { indexed: 'title' })
    assert.deepEqual([found(scene, 'scan'), found(scene, 'wheel')], [[id], []])

    gate.resolve()
    await scene.mill.jobs.waitFor(String(body['job_id']))
    const [late, ...others] = (await scene.mill.jobs.list('indexing_queue')).items
    assert.equal(others.length, 1)
    const text = await scene.mill.jobs.waitFor(late?.id ?? '')
    assert.deepEqual(text.result, { indexed: 'title and text' })
    assert.deepEqual(found(scene, 'wheel'), [id])
  })

  test('Edge case: sensitive data: neither job rows nor logs hold secrets, tokens or private content', async () => {
    const scene = await openScene()
    const ask = await (await scene.startApi()).as(ada)
    const page = await drawPage(['strictly private words'])
    const { body } = await ask('POST', '/documents?title=Scan', page)
    scene.mailbox.trouble = `login failed for smtp://user:${secretMark}@mail.example token=${secretMark}`
    const email = await scene.queue.enqueueEmailJob({ to: 'ada@example.com', template: 'welcome' })
    scene.startWorker()
    await scene.mill.jobs.waitFor(String(body['job_id']))
    await scene.mill.jobs.waitFor(email.job_id)
    const names = ['ocr_queue', 'indexing_queue', 'email_queue'] as const
    const pages = await Promise.all(names.map((name) => scene.mill.jobs.list(name)))
    const rows = JSON.stringify(pages)
    const logs = JSON.stringify(scene.lines)
    for (const text of [rows, logs]) {
      assert.doesNotMatch(text, new RegExp(`private|words|Bearer|${secretMark}`))
    }
    assert.doesNotMatch(logs, /ada@example\.com/)
    assert.match(scene.services.documents.find(String(body['document_id']))?.text ?? '', /private/)
  })
})

function found({ services }: Scene, words: string): readonly string[] {
  return services.search.search({ owner: 'ada', words }).map(({ entityId }) => entityId)
}
