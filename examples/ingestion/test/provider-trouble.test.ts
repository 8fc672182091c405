/** A failing provider delays extraction, and no document fails because of it. */
import assert from 'node:assert/strict'
import { type VirtualClock, virtualPorts } from 'millrace/testing'
import { describe, onTestFinished, test } from 'vitest'
import type { FailureStatus } from '../../shared/messages-api/messages-api-server.ts'
import { breakerSwitch } from '../app.ts'
import { ClaudeStub } from '../demo/claude-stub.ts'
import { millChapters, sampleDocx } from '../demo/sample-files.ts'
import { claudeExtractor } from '../extractor/claude-extractor.ts'
import { ada, type Fixture, kbId, openFixture } from './fixture.ts'

interface Troubled {
  readonly fixture: Fixture
  readonly claude: ClaudeStub
  readonly clock: VirtualClock
  readonly documentId: string
}

/** A document whose unit gets these failures. */
async function troubled(...failures: readonly FailureStatus[]): Promise<Troubled> {
  const claude = await ClaudeStub.start()
  onTestFinished(() => claude[Symbol.asyncDispose]())
  const ports = virtualPorts()
  const fixture = await openFixture({ ports })
  // No retries by the client, because it would wait by the machine's clock.
  const extractor = claudeExtractor({ apiKey: 'test', baseUrl: claude.url, retriesMax: 0 })
  Object.assign(fixture.ingestion, { extractor })
  claude.failNext(...failures)
  const client = await (await fixture.startApi()).as(ada)
  fixture.startWorker()
  const documentId = await client.upload(kbId, 'mills.docx', await sampleDocx(millChapters))
  return { fixture, claude, clock: ports.clock, documentId }
}

async function calls({ claude, clock }: Troubled, count: number): Promise<void> {
  while (claude.requests.length < count) await clock.advance(1)
  // Wait for the effects of the last response.
  for (let turn = 0; turn < 50; turn += 1) await clock.advance(1)
}

async function isHeld({ fixture }: Troubled): Promise<boolean> {
  const switches = await fixture.ingestion.mill.switches.list()
  return switches.some(({ value }) => value === breakerSwitch)
}

async function ready({ fixture, clock, documentId }: Troubled): Promise<void> {
  while ((await fixture.ingestion.library.document(documentId))?.status !== 'ready')
    await clock.advance(1)
}

async function deadLetters({ fixture }: Troubled): Promise<number | undefined> {
  return (await fixture.ingestion.mill.queues.extract.deadLetters.statistics()).ready
}

describe('a provider', () => {
  test('that is busy gets no more calls, and no attempt is used up', async () => {
    const document = await troubled(529, 429, 529, 529)
    await calls(document, 3)
    assert.equal(await isHeld(document), true)
    await document.clock.advance(20_000)
    assert.equal(document.claude.requests.length, 3)
    // After 30 seconds one call probes, and fails.
    await document.clock.advance(10_000)
    await calls(document, 4)
    assert.equal(await isHeld(document), true)
    await document.clock.advance(40_000)
    assert.equal(document.claude.requests.length, 4)
    // A minute later the next probe succeeds. There were four failures, and three attempts are allowed.
    await document.clock.advance(20_000)
    await ready(document)
    assert.equal(document.claude.requests.length, 5)
    assert.equal(await isHeld(document), false)
    assert.equal(await deadLetters(document), 0)
  })

  test.each([401, 403] as const)(
    'that returns %d is not called again for ten minutes',
    async (status) => {
      const document = await troubled(status)
      await calls(document, 1)
      assert.equal(await isHeld(document), true)
      document.clock.sleep(9 * 60_000)
      await document.clock.advance(30_000)
      assert.equal(document.claude.requests.length, 1)
      await document.clock.advance(60_000)
      await ready(document)
    },
  )

  test('with an internal error may fail because of the unit, so the unit gets three attempts', async () => {
    const document = await troubled(500, 500, 500)
    await calls(document, 3)
    assert.equal(await deadLetters(document), 1)
    assert.equal(await isHeld(document), true)
  })
})
