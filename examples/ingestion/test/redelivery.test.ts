/** Duplicate, late and abandoned deliveries: the result is one set of chunks and one finalize job. */
import assert from 'node:assert/strict'
import { describe, test } from 'vitest'
import { until } from '../../shared/until.ts'
import { sampleDocx } from '../demo/sample-files.ts'
import type { Extractor } from '../extractor/extractor.ts'
import { groupAtoms } from '../extractor/offline-extractor.ts'
import { extractUnit } from '../pipeline/extract-unit.ts'
import * as writes from '../records/stage-writes.ts'
import { ada, countSearchable, type Fixture, kbId, openFixture } from './fixture.ts'

/** Three units: each chapter fills more than half of one. */
const paragraphsEach = 4
const chapters = Array.from({ length: 3 }, (_, chapter) => ({
  title: `Chapter ${chapter + 1}`,
  paragraphs: Array.from(
    { length: paragraphsEach },
    (_, index) =>
      `${'The stones turn and the water falls. '.repeat(21)}End of ${chapter}.${index}.`,
  ),
}))

/** Like a model, it gives a different answer each time. */
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
  readonly fixture: Fixture
  readonly documentId: string
  readonly unitIds: readonly string[]
}

/** A document whose units are enqueued but not started. */
async function prepared(): Promise<Prepared> {
  const fixture = await openFixture()
  Object.assign(fixture.ingestion, { extractor: moody() })
  const client = await (await fixture.startApi()).as(ada)
  const documentId = await client.upload(kbId, 'long.docx', await sampleDocx(chapters))
  const worker = fixture.startWorker({ roles: ['ingest'] })
  await client.until(kbId, documentId, ({ unitsTotal }) => unitsTotal !== null)
  await worker.stop()
  const unitIds: string[] = []
  for await (const { unit } of fixture.ingestion.mill.flows.extraction.missing(documentId)) {
    unitIds.push(unit)
  }
  assert.equal(unitIds.length, chapters.length)
  return { fixture, documentId, unitIds }
}

function job({ documentId }: Prepared, unitId: string) {
  const { organizationId } = ada
  return { documentId, organizationId, kbId, unitId, extractorModel: 'moody' }
}

/** Checks that every paragraph exists once, all chunks are searchable, and the document was finalized once. */
async function assertWhole({ fixture, documentId }: Prepared): Promise<void> {
  const { library, mill } = fixture.ingestion
  assert.equal((await library.document(documentId))?.status, 'ready')
  const content = (await library.chunksOf(documentId)).map((chunk) => chunk.content)
  for (const [chapter] of chapters.entries()) {
    for (let index = 0; index < paragraphsEach; index += 1) {
      const marker = `End of ${chapter}.${index}.`
      const holders = content.filter((text) => text.includes(marker))
      assert.equal(holders.length, 1, `${marker} stands in ${holders.length} chunks`)
    }
  }
  const { model } = fixture.ingestion.embedder
  assert.equal(await countSearchable(fixture, model), content.length)
  assert.equal((await mill.queues.finalize.statistics()).totals.sent, 1)
  const ends = fixture.lines.filter(({ message }) =>
    /^document (?:ready|was finalized)/.test(message),
  )
  assert.deepEqual(
    ends.map(({ message }) => message),
    ['document ready'],
  )
}

async function settled({ fixture: { ingestion } }: Prepared): Promise<void> {
  const { extract, finalize } = ingestion.mill.queues
  await until(async () => {
    const all = await Promise.all([extract.statistics(), finalize.statistics()])
    return all.every(({ ready, leased, delayed }) => ready + leased + delayed === 0)
  }, 'the queues are empty')
}

describe('an extract job', () => {
  test('that is enqueued twice leaves one set of chunks, and one finalize job', async () => {
    const document = await prepared()
    const { fixture, unitIds } = document
    for (const unitId of [...unitIds, ...unitIds]) {
      await fixture.ingestion.mill.queues.extract.send(job(document, unitId))
    }
    fixture.startWorker()
    fixture.startWorker({ roles: ['extract'] })
    await settled(document)
    await assertWhole(document)
  })

  test('whose worker crashed is done by another, and a late result changes nothing', async () => {
    const document = await prepared()
    const { fixture, documentId } = document
    const { queues } = fixture.ingestion.mill
    // A worker that receives a job, does the work, and settles it too late.
    const [held] = await queues.extract.receive({ visibility: '1s' })
    assert.ok(held)
    const { unitIndex, ...extracted } = await extractUnit(fixture.ingestion, held.message)
    fixture.startWorker()
    await settled(document)
    await assertWhole(document)
    const before = await fixture.ingestion.library.chunksOf(documentId)
    assert.notEqual((await held.acknowledge()).status, 'settled')
    await fixture.ingestion.library.write(() =>
      writes.replaceChunks({ documentId, unitIndex }, extracted),
    )
    assert.deepEqual(await fixture.ingestion.library.chunksOf(documentId), before)
  })

  test('that arrives after the end does nothing', async () => {
    const document = await prepared()
    const { fixture, documentId, unitIds } = document
    fixture.startWorker()
    await settled(document)
    const before = await fixture.ingestion.library.chunksOf(documentId)
    await fixture.ingestion.mill.queues.extract.send(job(document, unitIds[0] ?? ''))
    const { organizationId } = ada
    await fixture.ingestion.mill.queues.finalize.send({ documentId, organizationId, kbId })
    await settled(document)
    assert.deepEqual(await fixture.ingestion.library.chunksOf(documentId), before)
    const last = fixture.lines.filter(({ message }) => message.includes('was already'))
    assert.deepEqual(last.map(({ message }) => message).sort(), [
      'document was already finalized',
      'unit was already extracted',
    ])
  })
})

describe('an upload', () => {
  test('whose event arrives twice is prepared once', async () => {
    const document = await prepared()
    const { fixture, documentId, unitIds } = document
    const record = await fixture.ingestion.library.document(documentId)
    assert.ok(record)
    const { organizationId, sourceObjectKey, sourceExt, extractorModel } = record
    await fixture.ingestion.mill.queues.ingest.send({
      documentId,
      organizationId,
      kbId,
      sourceObjectKey,
      sourceExt,
      extractorModel,
    })
    fixture.startWorker()
    await settled(document)
    await assertWhole(document)
    const flow = await fixture.ingestion.mill.flows.extraction.read(documentId)
    assert.deepEqual(
      [flow?.status, flow?.units.total, flow?.units.done],
      ['finalized', unitIds.length, unitIds.length],
    )
  })
})
