/** A worker that is started for what there is, and ends by itself. */
import assert from 'node:assert/strict'
import { virtualPorts } from 'millrace/testing'
import { describe, test } from 'vitest'
import { pauseSwitch } from '../app.ts'
import { millChapters, sampleDocx } from '../demo/sample-files.ts'
import { createIngestionWorker } from '../worker.ts'
import { ada, kbId, openScene, withTime } from './scene.ts'

describe('a worker that drains', () => {
  test('ends when nothing is left, or when what is left is held', async () => {
    const ports = virtualPorts()
    const scene = await openScene({ ports })
    const { mill, library } = scene.ingestion
    const client = await (await scene.startApi()).as(ada)
    const documentId = await client.upload(kbId, 'mills.docx', await sampleDocx(millChapters))
    const { extract } = mill.queues
    const run = async (): Promise<void> => {
      const worker = createIngestionWorker(scene.ingestion)
      await withTime(ports, worker.drain())
      assert.equal(worker.running, 0)
    }
    await mill.switches.hold({ name: pauseSwitch }, { by: 'ada' })
    await run()
    assert.equal(library.document(documentId)?.status, 'ingesting')
    assert.equal((await extract.statistics()).ready, 1)
    await mill.switches.lift({ name: pauseSwitch }, { by: 'ada' })
    await run()
    assert.equal(library.document(documentId)?.status, 'ready')
  })
})
