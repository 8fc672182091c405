/** A worker that exits when no work is left. */
import assert from 'node:assert/strict'
import { virtualPorts } from 'millrace/testing'
import { describe, test } from 'vitest'
import { pauseSwitch } from '../app.ts'
import { millChapters, sampleDocx } from '../demo/sample-files.ts'
import { createIngestionWorker } from '../worker.ts'
import { ada, kbId, openFixture, withTime } from './fixture.ts'

describe('a worker that drains', () => {
  test('exits when nothing is left, or when a kill switch holds the rest', async () => {
    const ports = virtualPorts()
    const fixture = await openFixture({ ports })
    const { mill, library } = fixture.ingestion
    const client = await (await fixture.startApi()).as(ada)
    const documentId = await client.upload(kbId, 'mills.docx', await sampleDocx(millChapters))
    const { extract } = mill.queues
    const run = async (): Promise<void> => {
      const worker = createIngestionWorker(fixture.ingestion)
      await withTime(ports, worker.drain())
      assert.equal(worker.running, 0)
    }
    await mill.switches.hold({ name: pauseSwitch }, { by: 'ada' })
    await run()
    assert.equal((await library.document(documentId))?.status, 'ingesting')
    assert.equal((await extract.statistics()).ready, 1)
    await mill.switches.lift({ name: pauseSwitch }, { by: 'ada' })
    await run()
    assert.equal((await library.document(documentId))?.status, 'ready')
  })
})
