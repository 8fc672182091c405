/** Deliveries repeat. Whatever comes twice, late or from a worker that died: one set of chunks, one end. */
import assert from 'node:assert/strict'
import { describe, test } from 'vitest'
import { until } from '../../shared/until.ts'
import { sampleDocx } from '../demo/sample-files.ts'
import type { Extractor } from '../extractor/extractor.ts'
import { groupAtoms } from '../extractor/offline-extractor.ts'
import { extractUnit } from '../pipeline/extract-unit.ts'
import * as writes from '../records/stage-writes.ts'
import { ada, kbId, openScene, type Scene } from './scene.ts'

/** Three units: each chapter is more than half of one. */
const paragraphsEach = 4
const chapters = Array.from({ length: 3 }, (_, chapter) => ({
  title: `Chapter ${chapter + 1}`,
  paragraphs: Array.from(
    { length: paragraphsEach },
    (_, index) =>
      `${'The stones turn and the water falls. '.repeat(21)}End of ${chapter}.${index}.`,
  ),
}))

/** Like a model: asked twice, it answers twice, and not the same. */
function moody(): Extractor {
  let calls = 0
  return {
    async extract(unit, { model }) {
      calls += 1
      const usage = {
        inputTokens: 1,
        outputTokens: 1,
        cacheCreationInputTokens: 0,
        cacheReadInputTokens: 0,
      }
      if (calls % 2 === 0) return { groupings: groupAtoms(unit), model, usage }
      const groupings = unit.atoms.map(({ index }) => ({
        atoms: [index],
        title: `call ${calls}`,
        confidence: 0.9,
      }))
      return { groupings, model, usage }
    },
  }
}

interface Prepared {
  readonly scene: Scene
  readonly documentId: string
  readonly unitIds: readonly string[]
}

/** A document whose units are enqueued, and not begun. */
async function prepared(): Promise<Prepared> {
  const scene = await openScene()
  Object.assign(scene.ingestion, { extractor: moody() })
  const client = await (await scene.startApi()).as(ada)
  const documentId = await client.upload(kbId, 'long.docx', await sampleDocx(chapters))
  const worker = scene.startWorker({ roles: ['ingest'] })
  await client.until(kbId, documentId, ({ unitsTotal }) => unitsTotal !== null)
  await worker.stop()
  const unitIds: string[] = []
  for await (const { unit } of scene.ingestion.mill.flows.extraction.missing(documentId)) {
    unitIds.push(unit)
  }
  assert.equal(unitIds.length, chapters.length)
  return { scene, documentId, unitIds }
}

function job({ documentId }: Prepared, unitId: string) {
  const { organizationId } = ada
  return { documentId, organizationId, kbId, unitId, extractorModel: 'moody' }
}

/** Every paragraph is there once, all chunks can be found, and the end came once. */
async function assertWhole({ scene, documentId }: Prepared): Promise<void> {
  const { library, mill } = scene.ingestion
  assert.equal(library.document(documentId)?.status, 'ready')
  const content = library.chunksOf(documentId).map((chunk) => chunk.content)
  for (const [chapter] of chapters.entries()) {
    for (let index = 0; index < paragraphsEach; index += 1) {
      const marker = `End of ${chapter}.${index}.`
      const holders = content.filter((text) => text.includes(marker))
      assert.equal(holders.length, 1, `${marker} stands in ${holders.length} chunks`)
    }
  }
  assert.equal([...library.searchable(kbId, scene.ingestion.embedder.model)].length, content.length)
  assert.equal((await mill.queues.finalize.statistics()).totals.sent, 1)
  const ends = scene.lines.filter(({ message }) =>
    /^document (?:ready|was finalized)/.test(message),
  )
  assert.deepEqual(
    ends.map(({ message }) => message),
    ['document ready'],
  )
}

async function settled({ scene: { ingestion } }: Prepared): Promise<void> {
  const { extract, finalize } = ingestion.mill.queues
  await until(async () => {
    const all = await Promise.all([extract.statistics(), finalize.statistics()])
    return all.every(({ ready, leased, delayed }) => ready + leased + delayed === 0)
  }, 'the queues are empty')
}

describe('an extract job', () => {
  test('that is there twice leaves one set of chunks, and one end', async () => {
    const document = await prepared()
    const { scene, unitIds } = document
    for (const unitId of [...unitIds, ...unitIds]) {
      await scene.ingestion.mill.queues.extract.send(job(document, unitId))
    }
    scene.startWorker()
    scene.startWorker({ roles: ['extract'] })
    await settled(document)
    await assertWhole(document)
  })

  test('whose worker died is done by another, and what comes late changes nothing', async () => {
    const document = await prepared()
    const { scene, documentId } = document
    const { queues } = scene.ingestion.mill
    // A worker that takes a job, does the work, and is away too long to say so.
    const [held] = await queues.extract.receive({ visibility: '1s' })
    assert.ok(held)
    const { unitIndex, ...extracted } = await extractUnit(scene.ingestion, held.message)
    scene.startWorker()
    await settled(document)
    await assertWhole(document)
    const before = scene.ingestion.library.chunksOf(documentId)
    assert.notEqual((await held.acknowledge()).status, 'settled')
    scene.ingestion.library.transaction((db) =>
      writes.replaceChunks(db, { documentId, unitIndex }, extracted),
    )
    assert.deepEqual(scene.ingestion.library.chunksOf(documentId), before)
  })

  test('that comes after the end finds nothing to do', async () => {
    const document = await prepared()
    const { scene, documentId, unitIds } = document
    scene.startWorker()
    await settled(document)
    const before = scene.ingestion.library.chunksOf(documentId)
    await scene.ingestion.mill.queues.extract.send(job(document, unitIds[0] ?? ''))
    const { organizationId } = ada
    await scene.ingestion.mill.queues.finalize.send({ documentId, organizationId, kbId })
    await settled(document)
    assert.deepEqual(scene.ingestion.library.chunksOf(documentId), before)
    const last = scene.lines.filter(({ message }) => message.endsWith('before'))
    assert.deepEqual(last.map(({ message }) => message).sort(), [
      'document was finalized before',
      'unit was extracted before',
    ])
  })
})

describe('an upload', () => {
  test('whose event comes twice is prepared once', async () => {
    const document = await prepared()
    const { scene, documentId, unitIds } = document
    const record = scene.ingestion.library.document(documentId)
    assert.ok(record)
    const { organizationId, sourceObjectKey, sourceExt, extractorModel } = record
    await scene.ingestion.mill.queues.ingest.send({
      documentId,
      organizationId,
      kbId,
      sourceObjectKey,
      sourceExt,
      extractorModel,
    })
    scene.startWorker()
    await settled(document)
    await assertWhole(document)
    const flow = await scene.ingestion.mill.flows.extraction.read(documentId)
    assert.deepEqual(
      [flow?.status, flow?.units.total, flow?.units.done],
      ['finalized', unitIds.length, unitIds.length],
    )
  })
})
