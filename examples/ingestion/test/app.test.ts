/** The specified names and numbers: queues, receives, ceiling, times. */
import assert from 'node:assert/strict'
import { describe, test } from 'vitest'
import { ingestionApp } from '../app.ts'
import { openFixture } from './fixture.ts'

describe('the app', () => {
  const { queues, flows } = ingestionApp({ EXTRACT_CONCURRENCY: 3, INGESTION_RETRY_MS: 10_000 })

  test.each(['ingest', 'extract', 'finalize'] as const)(
    'dead-letters %s jobs after three receives',
    (key) => {
      const { name, deadLetter } = queues[key].options
      assert.equal(name, `${key}-jobs`)
      assert.deepEqual(deadLetter, { after: 3, name: `${key}-jobs-dlq` })
    },
  )

  test('limits extraction to three units at once, and has no other ceiling', () => {
    assert.equal(queues.extract.options.concurrency, 3)
    assert.equal(queues.ingest.options.concurrency, undefined)
  })

  test('waits for failed units, and reports a document as overdue after 40 minutes', () => {
    const { onUnitFailure, deadline } = flows.extraction.options
    assert.deepEqual([onUnitFailure, deadline], ['wait', { ms: 2_400_000 }])
  })

  test('has alarms on all dead-letter queues and on stuck documents', async () => {
    const { ingestion } = await openFixture()
    const alarms = await ingestion.mill.alarms.list()
    assert.deepEqual(
      alarms.map(({ alarm }) => alarm),
      [
        'ingestion-dev-documents-stuck',
        'ingestion-dev-extract-jobs-dead-letters',
        'ingestion-dev-finalize-jobs-dead-letters',
        'ingestion-dev-ingest-jobs-dead-letters',
      ],
    )
  })
})
