/** From upload to search, with and without the queues. */
import assert from 'node:assert/strict'
import { describe, onTestFinished, test, vi } from 'vitest'
import { millChapters, sampleDocx, samplePdf } from '../demo/sample-files.ts'
import { ada, bob, kbId, openFixture } from './fixture.ts'
import { credentials, S3Server } from './s3-server.ts'

describe.each(['worker', 'inline'] as const)('the runtime %s', (runtime) => {
  test('makes a PDF and a DOCX ready, with searchable chunks and page images', async () => {
    const fixture = await openFixture({ variables: { INGESTION_RUNTIME: runtime } })
    const api = await fixture.startApi()
    if (runtime === 'worker') fixture.startWorker()
    const client = await api.as(ada)
    const pdf = await client.upload(kbId, 'mills.pdf', await samplePdf(millChapters))
    const docx = await client.upload(kbId, 'Mühlen.DOCX', await sampleDocx(millChapters))
    for (const id of [pdf, docx]) {
      const document = await client.ended(kbId, id)
      assert.deepEqual([document.status, document.failure], ['ready', null])
      assert.equal(document.unitsTotal, 1)
      assert.equal(document.confidenceTier, 'medium')
      assert.equal(document.pages.length, 3)
      const image = await client.ask(document.pages[1]?.image ?? '')
      assert.deepEqual([image.status, image.headers.get('content-type')], [200, 'image/png'])
      assert.equal(
        Buffer.from(await image.arrayBuffer())
          .subarray(1, 4)
          .toString(),
        'PNG',
      )
    }
    const found = await client.search(kbId, 'how wide is the gap between the stones')
    assert.deepEqual(
      found
        .slice(0, 2)
        .map(({ documentId, sectionPath, pageFrom }) => [documentId, sectionPath, pageFrom])
        .sort(),
      [
        [pdf, 'The stones', 2],
        [docx, 'The stones', 2],
      ].sort(),
    )
    assert.ok(found[0]?.content.includes('as wide as a sheet of paper'))
    // Another organisation does not see them.
    const stranger = await api.as(bob)
    assert.deepEqual(await stranger.search('kb-b', 'stones'), [])
    const ready = fixture.lines.filter(({ message }) => message === 'document ready')
    assert.deepEqual(
      ready.map(({ fields }) => [fields['models'], fields['units'], fields['cost_usd']]),
      Array(2).fill(['offline', 1, 0]),
    )
  })
})

describe('with buckets', () => {
  const EVENTS_SECRET = 'e'.repeat(32)

  test('a file is uploaded to S3 with a form, and the notification starts processing', async () => {
    const s3 = await S3Server.start()
    onTestFinished(() => s3[Symbol.asyncDispose]())
    vi.stubEnv('AWS_ACCESS_KEY_ID', credentials.accessKeyId)
    vi.stubEnv('AWS_SECRET_ACCESS_KEY', credentials.secretAccessKey)
    onTestFinished(() => void vi.unstubAllEnvs())
    const variables = {
      UPLOADS_BUCKET: 'uploads',
      CACHE_BUCKET: 'cache',
      S3_ENDPOINT: s3.url,
      EVENTS_SECRET,
    }
    const fixture = await openFixture({ variables })
    const api = await fixture.startApi()
    fixture.startWorker()
    const client = await api.as(ada)
    const documentId = await client.upload(kbId, 'mills.docx', await sampleDocx(millChapters))
    const { sourceObjectKey } = (await fixture.ingestion.library.document(documentId)) ?? {}
    assert.ok(s3.objects.has(`uploads/${sourceObjectKey}`))

    const Records = [{ eventName: 'ObjectCreated:Post', s3: { object: { key: sourceObjectKey } } }]
    const told = await fetch(`${api.url}/events/object-created`, {
      method: 'POST',
      headers: { authorization: `Bearer ${EVENTS_SECRET}` },
      body: JSON.stringify({ Records }),
    })
    assert.equal(told.status, 202)
    const { status, pages } = await client.ended(kbId, documentId)
    assert.equal(status, 'ready')
    assert.equal((await client.ask(pages[0]?.image ?? '')).status, 200)
    assert.ok([...s3.objects.keys()].some((key) => key.startsWith('cache/org-a/')))
  })
})
