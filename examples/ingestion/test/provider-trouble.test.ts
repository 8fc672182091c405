/** A provider in trouble holds extraction up, and costs no document anything but time. */
import assert from 'node:assert/strict'
import { type VirtualClock, virtualPorts } from 'millrace/testing'
import { describe, onTestFinished, test } from 'vitest'
import type { FailureStatus } from '../../shared/messages-api/messages-api-server.ts'
import { breakerSwitch } from '../app.ts'
import { ClaudeStandIn } from '../demo/claude-stand-in.ts'
import { millChapters, sampleDocx } from '../demo/sample-files.ts'
import { claudeExtractor } from '../extractor/claude-extractor.ts'
import { ada, kbId, openScene, type Scene } from './scene.ts'

interface Troubled {
  readonly scene: Scene
  readonly claude: ClaudeStandIn
  readonly clock: VirtualClock
  readonly documentId: string
}

/** A document whose unit meets these failures. */
async function troubled(...failures: readonly FailureStatus[]): Promise<Troubled> {
  const claude = await ClaudeStandIn.start()
  onTestFinished(() => claude[Symbol.asyncDispose]())
  const ports = virtualPorts()
  const scene = await openScene({ ports })
  // The client itself would wait and try again, by the machine's clock.
  const extractor = claudeExtractor({ apiKey: 'test', baseUrl: claude.url, retriesMax: 0 })
  Object.assign(scene.ingestion, { extractor })
  claude.failNext(...failures)
  const client = await (await scene.startApi()).as(ada)
  scene.startWorker()
  const documentId = await client.upload(kbId, 'mills.docx', await sampleDocx(millChapters))
  return { scene, claude, clock: ports.clock, documentId }
}

async function calls({ claude, clock }: Troubled, count: number): Promise<void> {
  while (claude.requests.length < count) await clock.advance(1)
  // What follows from the last answer.
  for (let turn = 0; turn < 50; turn += 1) await clock.advance(1)
}

async function isHeld({ scene }: Troubled): Promise<boolean> {
  const switches = await scene.ingestion.mill.switches.list()
  return switches.some(({ value }) => value === breakerSwitch)
}

async function ready({ scene, clock, documentId }: Troubled): Promise<void> {
  while (scene.ingestion.library.document(documentId)?.status !== 'ready') await clock.advance(1)
}

async function deadLetters({ scene }: Troubled): Promise<number | undefined> {
  return (await scene.ingestion.mill.queues.extract.deadLetters?.statistics())?.ready
}

describe('a provider', () => {
  test('that is busy is left alone, and no attempt is lost', async () => {
    const document = await troubled(529, 429, 529, 529)
    await calls(document, 3)
    assert.equal(await isHeld(document), true)
    await document.clock.advance(20_000)
    assert.equal(document.claude.requests.length, 3)
    // After half a minute one call finds out that nothing is better.
    await document.clock.advance(10_000)
    await calls(document, 4)
    assert.equal(await isHeld(document), true)
    await document.clock.advance(40_000)
    assert.equal(document.claude.requests.length, 4)
    // After a minute more the next one is answered. Four failures, and three would have been too many.
    await document.clock.advance(20_000)
    await ready(document)
    assert.equal(document.claude.requests.length, 5)
    assert.equal(await isHeld(document), false)
    assert.equal(await deadLetters(document), 0)
  })

  test.each([401, 403] as const)(
    'that answers %d is not asked again for ten minutes',
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

  test('that fails inside may do so because of the unit, which is tried three times', async () => {
    const document = await troubled(500, 500, 500)
    await calls(document, 3)
    assert.equal(await deadLetters(document), 1)
    assert.equal(await isHeld(document), true)
  })
})
