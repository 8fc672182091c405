/** Documents that do not come to an end are found after 40 minutes, and repaired or reported. */
import assert from 'node:assert/strict'
import { type VirtualClock, virtualPorts } from 'millrace/testing'
import { describe, test } from 'vitest'
import { millChapters, sampleDocx } from '../demo/sample-files.ts'
import { beginIngesting } from '../records/stage-writes.ts'
import { ada, kbId, openScene, type Scene } from './scene.ts'

const minuteMs = 60_000

async function stuckAlarm({ ingestion }: Scene): Promise<string | undefined> {
  const alarms = await ingestion.mill.alarms.list()
  return alarms.find(({ alarm }) => alarm.endsWith('documents-stuck'))?.state
}

/** The last minute passes as it does, with all that happens in it; those before it are skipped. */
async function pass(clock: VirtualClock, minutes: number): Promise<void> {
  clock.sleep((minutes - 1) * minuteMs)
  await clock.advance(minuteMs)
}

function told({ lines }: Scene, message: string): readonly unknown[] {
  return lines.filter((line) => line.message === message).map(({ fields }) => fields['documentId'])
}

describe('the janitor', () => {
  test('enqueues an upload whose event was lost, ends one that never came, and tells of the rest', async () => {
    const ports = virtualPorts()
    const { clock } = ports
    const scene = await openScene({ ports })
    const { library, uploads } = scene.ingestion
    const client = await (await scene.startApi()).as(ada)
    const content = await sampleDocx(millChapters)
    const lost = await client.mint(kbId, 'lost.docx', content)
    await uploads.put(lost.objectKey, content, '')
    const never = await client.mint(kbId, 'never.docx', content)
    const begun = await client.mint(kbId, 'begun.docx', content)
    library.transaction((db) => beginIngesting(db, begun.documentId, clock.now()))
    scene.startWorker()
    await pass(clock, 39)
    assert.equal(library.document(lost.documentId)?.status, 'pending')
    await clock.advance(2 * minuteMs)
    while (library.document(lost.documentId)?.status !== 'ready') await clock.advance(1)
    assert.deepEqual(told(scene, 'pending document enqueued again'), [lost.documentId])
    assert.deepEqual(
      new Set(told(scene, 'document stuck while ingesting')),
      new Set([begun.documentId]),
    )
    const given = library.document(never.documentId)
    assert.deepEqual([given?.status, given?.failure], ['failed', 'The file was never uploaded.'])
  })

  test('enqueues a lost upload once, also when nobody takes it', async () => {
    const ports = virtualPorts()
    const { clock } = ports
    const scene = await openScene({ ports })
    const { uploads, mill } = scene.ingestion
    const client = await (await scene.startApi()).as(ada)
    const { objectKey } = await client.mint(kbId, 'lost.docx', new Uint8Array(1))
    await uploads.put(objectKey, new Uint8Array(1), '')
    const sent = async (): Promise<number> => (await mill.queues.ingest.statistics()).totals.sent
    scene.startWorker({ roles: ['janitor'] })
    await pass(clock, 41)
    // It looks for the file on a real disk, which takes as long as it takes.
    while ((await sent()) < 1) await clock.advance(1)
    await clock.advance(2 * minuteMs)
    assert.equal(await sent(), 1)
    await pass(clock, 40)
    while ((await sent()) < 2) await clock.advance(1)
    await clock.advance(2 * minuteMs)
    assert.equal(await sent(), 2)
  })

  test('reports a document that is stuck, with the units that are missing, until it is not', async () => {
    const ports = virtualPorts()
    const { clock } = ports
    const scene = await openScene({ ports })
    const { library, mill } = scene.ingestion
    const client = await (await scene.startApi()).as(ada)
    const documentId = await client.upload(kbId, 'mills.docx', await sampleDocx(millChapters))
    scene.startWorker({ roles: ['ingest', 'janitor'] })
    while (library.document(documentId)?.unitsTotal === null) await clock.advance(1)
    await pass(clock, 39)
    assert.deepEqual(told(scene, 'document stuck while ingesting'), [])
    assert.notEqual(await stuckAlarm(scene), 'ALARM')

    await clock.advance(4 * minuteMs)
    assert.equal(await stuckAlarm(scene), 'ALARM')
    const line = scene.lines.find(({ message }) => message === 'document stuck while ingesting')
    assert.deepEqual(line?.fields, { documentId, units_total: 1, missing: 'unit-0001' })
    assert.equal((await mill.flows.extraction.read(documentId))?.isOverdue, true)

    scene.startWorker({ roles: ['extract', 'finalize'] })
    while (library.document(documentId)?.status !== 'ready') await clock.advance(1)
    await clock.advance(3 * minuteMs)
    assert.equal(await stuckAlarm(scene), 'OK')
  })
})
