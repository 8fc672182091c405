/** Documents that are stuck for 40 minutes are found, and repaired or reported. More is in stuck-documents.test.ts. */
import assert from 'node:assert/strict'
import { virtualPorts } from 'millrace/testing'
import { describe, test } from 'vitest'
import { millChapters, sampleDocx } from '../demo/sample-files.ts'
import { beginIngesting } from '../records/stage-writes.ts'
import { ada, kbId, loggedIds, minuteMs, openFixture, pass } from './fixture.ts'

describe('the janitor', () => {
  test('enqueues an upload whose event was lost, fails one that never arrived, and reports the rest', async () => {
    const ports = virtualPorts()
    const { clock } = ports
    const fixture = await openFixture({ ports })
    const { library, uploads } = fixture.ingestion
    const client = await (await fixture.startApi()).as(ada)
    const content = await sampleDocx(millChapters)
    const lost = await client.mint(kbId, 'lost.docx', content)
    await uploads.put(lost.objectKey, content, '')
    const never = await client.mint(kbId, 'never.docx', content)
    const begun = await client.mint(kbId, 'begun.docx', content)
    await library.write(() => beginIngesting(begun.documentId, clock.now()))
    fixture.startWorker()
    await pass(clock, 39)
    assert.equal((await library.document(lost.documentId))?.status, 'pending')
    await clock.advance(2 * minuteMs)
    while ((await library.document(lost.documentId))?.status !== 'ready') await clock.advance(1)
    assert.deepEqual(loggedIds(fixture, 'pending document enqueued again'), [lost.documentId])
    assert.deepEqual(
      new Set(loggedIds(fixture, 'document stuck while ingesting')),
      new Set([begun.documentId]),
    )
    const given = await library.document(never.documentId)
    assert.deepEqual([given?.status, given?.failure], ['failed', 'The file was never uploaded.'])
  })
})
