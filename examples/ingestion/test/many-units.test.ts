/** A long document: one unit per page, few at once, and one finalize job. */
import assert from 'node:assert/strict'
import { describe, test } from 'vitest'
import { longChapters, samplePdf } from '../demo/sample-files.ts'
import { offlineExtractor } from '../extractor/offline-extractor.ts'
import { ada, kbId, openFixture, turn } from './fixture.ts'

const pages = 64

describe('a document of 64 pages', () => {
  test('is extracted in 64 units, three at once over two workers, and finalized once', async () => {
    const fixture = await openFixture()
    const { library, mill } = fixture.ingestion
    let running = 0
    let mostAtOnce = 0
    const calls = new Map<string, number>()
    Object.assign(fixture.ingestion, {
      extractor: {
        async extract(...[unit, options]: Parameters<typeof offlineExtractor.extract>) {
          running += 1
          mostAtOnce = Math.max(mostAtOnce, running)
          calls.set(unit.id, (calls.get(unit.id) ?? 0) + 1)
          // Gives both workers time to start more units, if the ceiling allowed it.
          for (let turns = 0; turns < 20; turns += 1) await turn()
          running -= 1
          return offlineExtractor.extract(unit, options)
        },
      },
    })
    const client = await (await fixture.startApi()).as(ada)
    const id = await client.upload(kbId, 'long.pdf', await samplePdf(longChapters(pages)))
    fixture.startWorker()
    fixture.startWorker({ roles: ['extract'] })
    const document = await client.ended(kbId, id)
    assert.deepEqual(
      [document.status, document.pages.length, document.unitsTotal, document.unitsDone],
      ['ready', pages, pages, pages],
    )
    assert.equal(mostAtOnce, 3)
    assert.deepEqual([calls.size, new Set(calls.values())], [pages, new Set([1])])

    const flow = await mill.flows.extraction.read(id)
    assert.equal(flow?.status, 'finalized')
    assert.deepEqual(flow.units, { total: pages, done: pages, dead: 0, pending: 0 })
    assert.equal((await mill.queues.finalize.statistics()).totals.sent, 1)
    const ends = fixture.lines.filter(({ message }) => message === 'document ready')
    assert.equal(ends.length, 1)

    const content = (await library.chunksOf(id)).map((chunk) => chunk.content)
    for (let page = 1; page <= pages; page += 1) {
      const holders = content.filter((text) => text.includes(`mill number ${page}.`))
      assert.equal(holders.length, 1, `page ${page} is in ${holders.length} chunks`)
    }
  })
})
