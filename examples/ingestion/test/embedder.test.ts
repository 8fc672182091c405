/** The client of an embedding service, against a local server with the same protocol. */
import assert from 'node:assert/strict'
import { describe, onTestFinished, test } from 'vitest'
import { millChapters, sampleDocx } from '../demo/sample-files.ts'
import { httpEmbedder } from '../embedder/http-embedder.ts'
import { runEmbed, similarity } from '../stages/run-embed.ts'
import { EmbeddingsServer } from './embeddings-server.ts'
import { ada, countSearchable, kbId, openFixture } from './fixture.ts'

async function startServer(): Promise<EmbeddingsServer> {
  const server = await EmbeddingsServer.start()
  onTestFinished(() => server[Symbol.asyncDispose]())
  return server
}

const embedderOf = ({ url }: EmbeddingsServer, apiKey = 'key') =>
  httpEmbedder({ baseUrl: url, apiKey, model: 'model-1' })

describe('an embedding service', () => {
  test('returns a vector of length 1 for each text, in the same order', async () => {
    const server = await startServer()
    const texts = ['The water wheel', 'The stones', 'The miller']
    const vectors = await embedderOf(server).embed(texts)
    for (const [index, vector] of vectors.entries()) {
      assert.ok(similarity(vector, runEmbed(texts[index] ?? '')) > 0.999)
    }
    assert.deepEqual(server.requests, [{ model: 'model-1', input: texts }])
  })

  test('is called with at most 96 texts at a time', async () => {
    const server = await startServer()
    const texts = Array.from({ length: 200 }, (_, index) => `Text ${index}`)
    assert.equal((await embedderOf(server).embed(texts)).length, 200)
    assert.deepEqual(
      server.requests.map(({ input }) => input.length),
      [96, 96, 8],
    )
    assert.deepEqual(await embedderOf(server).embed([]), [])
    assert.equal(server.requests.length, 3)
  })

  test('that refuses, is busy or leaves out a text causes an error without its response', async () => {
    const server = await startServer()
    const refused = embedderOf(server, 'another key').embed(['a'])
    await assert.rejects(refused, { name: 'EmbeddingFailed', message: /returned 401/ })
    server.failures.push(new Response('the document says a', { status: 429 }))
    await assert.rejects(embedderOf(server).embed(['a']), /^EmbeddingFailed: .* returned 429\.$/)
    server.failures.push(Response.json({ data: [] }), new Response('no JSON'))
    for (const _ of [1, 2]) {
      await assert.rejects(embedderOf(server).embed(['a']), /did not return a vector for each text/)
    }
  })

  test('makes documents searchable, and the queue retries its failures', async () => {
    const server = await startServer()
    server.failures.push(new Response('', { status: 503 }))
    const variables = {
      INGESTION_EMBEDDER: 'http',
      EMBEDDINGS_URL: server.url,
      EMBEDDINGS_API_KEY: 'key',
      EMBEDDINGS_MODEL: 'model-1',
    }
    const fixture = await openFixture({ variables })
    fixture.startWorker()
    const client = await (await fixture.startApi()).as(ada)
    const id = await client.upload(kbId, 'mills.docx', await sampleDocx(millChapters))
    assert.equal((await client.ended(kbId, id)).status, 'ready')
    const [best] = await client.search(kbId, 'how are furrows cut?')
    assert.equal(best?.sectionPath, 'The stones')
    assert.equal(server.requests.at(-1)?.input[0], 'how are furrows cut?')
    // Vectors of another model are ignored.
    assert.equal(await countSearchable(fixture, 'model-2'), 0)
  })
})
