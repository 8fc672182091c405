/** A unit that cannot be extracted: three attempts, an alarm, and a redrive by the runbook. */
import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { virtualPorts } from 'millrace/testing'
import { describe, onTestFinished, test } from 'vitest'
import { runCli } from '../../../test/support/cli-process.ts'
import { ClaudeStub } from '../demo/claude-stub.ts'
import { millChapters, sampleDocx } from '../demo/sample-files.ts'
import { ada, type Fixture, kbId, openFixture } from './fixture.ts'

const minuteMs = 60_000

/** The redrive command of the README, with the folder of this test. */
async function runbookLine(folder: string): Promise<readonly string[]> {
  const readme = await readFile(join(import.meta.dirname, '..', 'README.md'), 'utf8')
  const [, line] = /^millrace (dlq redrive extract-jobs-dlq\b.*)$/m.exec(readme) ?? []
  assert.ok(line, 'The README has no redrive command.')
  return line.replace('.millrace/ingestion', folder).split(' ')
}

async function alarmState({ ingestion }: Fixture): Promise<string | undefined> {
  const alarms = await ingestion.mill.alarms.list()
  return alarms.find(({ alarm }) => alarm.endsWith('extract-jobs-dead-letters'))?.state
}

describe('a forced failure of an extract job', () => {
  test('is dead-lettered after three receives, raises the alarm, and is redriven', async () => {
    const claude = await ClaudeStub.start()
    onTestFinished(() => claude[Symbol.asyncDispose]())
    const ports = virtualPorts(1, { startAt: Date.now() })
    const { clock } = ports
    const variables = {
      INGESTION_EXTRACTOR: 'claude',
      ANTHROPIC_API_KEY: 'test',
      ANTHROPIC_BASE_URL: claude.url,
    }
    const fixture = await openFixture({ ports, variables })
    const { mill, library } = fixture.ingestion
    const client = await (await fixture.startApi()).as(ada)
    fixture.startWorker()
    claude.confusedBy = 'apprenticeship'
    const documentId = await client.upload(kbId, 'mills.docx', await sampleDocx(millChapters))
    const { extract } = mill.queues
    const passing = async (holds: () => boolean | Promise<boolean>): Promise<void> => {
      while (!(await holds())) await clock.advance(1)
    }
    await passing(async () => (await extract.deadLetters.statistics()).ready === 1)
    assert.equal((await extract.statistics()).totals.received, 3)
    assert.equal(claude.requests.length, 3)
    const waiting = await client.document(kbId, documentId)
    assert.deepEqual([waiting.status, waiting.unitsTotal, waiting.unitsDead], ['ingesting', 1, 1])

    await clock.advance(3 * minuteMs)
    assert.equal(await alarmState(fixture), 'ALARM')

    claude.confusedBy = undefined
    const { code, stderr } = await runCli(
      await runbookLine(fixture.ingestion.environment.INGESTION_DATA),
    )
    assert.equal(code, 0, stderr)
    await passing(async () => (await library.document(documentId))?.status === 'ready')
    assert.equal((await library.chunksOf(documentId)).length, 3)
    await clock.advance(3 * minuteMs)
    assert.equal(await alarmState(fixture), 'OK')
    const cost = fixture.lines.find(({ message }) => message === 'document ready')?.fields
    assert.ok(Number(cost?.['cost_usd']) > 0)
    assert.ok(
      Number(cost?.['cache_creation_input_tokens']) + Number(cost?.['cache_read_input_tokens']) >
        4_096,
    )
  })
})
