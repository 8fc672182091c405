import assert from 'node:assert/strict'
import { describe, test } from 'vitest'
import { readEnvironment } from '../environment.ts'

const INGESTION_SECRET = 'x'.repeat(32)

describe('the environment', () => {
  test('requires only a secret', () => {
    const settings = readEnvironment({ INGESTION_SECRET, PORT: '' })
    assert.equal(settings.INGESTION_RUNTIME, 'worker')
    assert.equal(settings.INGESTION_EXTRACTOR, 'offline')
    assert.equal(settings.EXTRACT_CONCURRENCY, 3)
    assert.equal(settings.EXTRACTOR_MODEL, 'claude-haiku-4-5')
  })

  test.each([
    ['INGESTION_SECRET', { INGESTION_SECRET: 'short' }],
    ['INGESTION_RUNTIME', { INGESTION_RUNTIME: 'lambda' }],
    ['EXTRACT_CONCURRENCY', { EXTRACT_CONCURRENCY: '0' }],
    ['ANTHROPIC_API_KEY', { INGESTION_EXTRACTOR: 'claude' }],
    ['EMBEDDINGS_API_KEY', { INGESTION_EMBEDDER: 'http' }],
    ['CACHE_BUCKET', { UPLOADS_BUCKET: 'uploads' }],
    ['S3_ENDPOINT', { S3_ENDPOINT: 'file:///x' }],
  ])('is refused with a wrong %s, without its value', (name, change) => {
    assert.throws(
      () => readEnvironment({ INGESTION_SECRET, ...change }),
      ({ message }: Error) => message.includes(name) && !message.includes('short'),
    )
  })
})
