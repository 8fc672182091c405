/** What the janitor repeats and reports, over many minutes. */
import assert from 'node:assert/strict'
import { virtualPorts } from 'millrace/testing'
import { describe, test } from 'vitest'
import { millChapters, sampleDocx } from '../demo/sample-files.ts'
import { ada, type Fixture, kbId, loggedIds, minuteMs, openFixture, pass } from './fixture.ts'

async function stuckAlarm({ ingestion }: Fixture): Promise<string | undefined> {
  const alarms = await ingestion.mill.alarms.list()
  return alarms.find(({ alarm }) => alarm.endsWith('documents-stuck'))?.state
}

describe('the janitor', () => {
  test('enqueues a lost upload once, even if no worker runs', async () => {
    const ports = virtualPorts()
    const { clock } = ports
    const fixture = await openFixture({ ports })
    const { uploads, mill } = fixture.ingestion
    const client = await (await fixture.startApi()).as(ada)
    const { objectKey } = await client.mint(kbId, 'lost.docx', new Uint8Array(1))
    await uploads.put(objectKey, new Uint8Array(1), '')
    const sent = async (): Promise<number> => (await mill.queues.ingest.statistics()).totals.sent
    fixture.startWorker({ roles: ['janitor'] })
    await pass(clock, 41)
    // It checks for the file on a real disk, which takes real time.
    while ((await sent()) < 1) await clock.advance(1)
    await clock.advance(2 * minuteMs)
    assert.equal(await sent(), 1)
    await pass(clock, 40)
    while ((await sent()) < 2) await clock.advance(1)
    await clock.advance(2 * minuteMs)
    assert.equal(await sent(), 2)
  })

  test('reports a stuck document with its missing units, until it is repaired', async () => {
    const ports = virtualPorts()
    const { clock } = ports
    const fixture = await openFixture({ ports })
    const { library, mill } = fixture.ingestion
    const client = await (await fixture.startApi()).as(ada)
    const documentId = await client.upload(kbId, 'mills.docx', await sampleDocx(millChapters))
    fixture.startWorker({ roles: ['ingest', 'janitor'] })
    while ((await library.document(documentId))?.unitsTotal === null) await clock.advance(1)
    await pass(clock, 39)
    assert.deepEqual(loggedIds(fixture, 'document stuck while ingesting'), [])
    assert.notEqual(await stuckAlarm(fixture), 'ALARM')

    await clock.advance(4 * minuteMs)
    assert.equal(await stuckAlarm(fixture), 'ALARM')
    const line = fixture.lines.find(({ message }) => message === 'document stuck while ingesting')
    assert.deepEqual(line?.fields, { documentId, units_total: 1, missing: 'unit-0001' })
    assert.equal((await mill.flows.extraction.read(documentId))?.isOverdue, true)

    fixture.startWorker({ roles: ['extract', 'finalize'] })
    while ((await library.document(documentId))?.status !== 'ready') await clock.advance(1)
    await clock.advance(3 * minuteMs)
    assert.equal(await stuckAlarm(fixture), 'OK')
  })
})
