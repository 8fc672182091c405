/** Bad input is refused, or its document fails with a reason. Nothing is left behind. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { mkdir } from 'node:fs/promises'
import { request } from 'node:http'
import { join } from 'node:path'
import { virtualPorts } from 'millrace/testing'
import { describe, test } from 'vitest'
import { until } from '../../shared/until.ts'
import { type Minted, send } from '../demo/ingestion-client.ts'
import { millChapters, samplePdf } from '../demo/sample-files.ts'
import { encryptedPdf } from './encrypted-pdf.ts'
import { ada, bob, kbId, openFixture } from './fixture.ts'

const pdf = new TextEncoder().encode('%PDF-1.7 and so on')

describe('asking for an upload address', () => {
  test.each<[string, unknown, number, RegExp]>([
    ['a path in the name', { filename: '../../etc/x.pdf', fileSize: 1 }, 400, /filename/],
    ['a Windows path', { filename: 'C:\\x.pdf', fileSize: 1 }, 400, /filename/],
    ['a control character', { filename: 'a\n.pdf', fileSize: 1 }, 400, /filename/],
    ['no name', { filename: '', fileSize: 1 }, 400, /filename/],
    [
      'a name that is too long',
      { filename: `${'x'.repeat(252)}.pdf`, fileSize: 1 },
      400,
      /filename/,
    ],
    ['a negative size', { filename: 'a.pdf', fileSize: -1 }, 400, /fileSize/],
    ['a size that is not a number', { filename: 'a.pdf', fileSize: '1' }, 400, /fileSize/],
    ['more than 100 MB', { filename: 'a.pdf', fileSize: 104_857_601 }, 413, /100 MB/],
    ['another type', { filename: 'a.exe', fileSize: 1 }, 415, /\.pdf and \.docx/],
    ['no type', { filename: 'pdf', fileSize: 1 }, 415, /\.pdf and \.docx/],
    ['an unknown field', { filename: 'a.pdf', fileSize: 1, admin: true }, 400, /body/],
    ['nothing', undefined, 400, /body/],
  ])('with %s is refused', async (_what, request, status, text) => {
    const fixture = await openFixture()
    const client = await (await fixture.startApi()).as(ada)
    const answer = await client.askForUpload(kbId, request)
    assert.equal(answer.status, status)
    assert.match(await answer.text(), text)
    assert.deepEqual(await fixture.ingestion.library.documentsIn(kbId, 10), [])
  })

  test('is refused in the same way for a knowledge base of another organisation and for a missing one', async () => {
    const fixture = await openFixture()
    const api = await fixture.startApi()
    const client = await api.as(bob)
    for (const id of [kbId, 'nowhere', '%2Fkb-b']) {
      const answer = await client.askForUpload(id, { filename: 'a.pdf', fileSize: 1 })
      assert.equal(answer.status, 404)
      assert.match(await answer.text(), /no such knowledge base/)
    }
    const anonymous = await fetch(`${api.url}/api/kb/${kbId}/upload-url`, { method: 'POST' })
    assert.equal(anonymous.status, 401)
  })

  test('returns the key, the document, and how to upload', async () => {
    const fixture = await openFixture()
    const api = await fixture.startApi()
    const client = await api.as(ada)
    const minted = await client.mint(kbId, 'Übersicht 2025.PDF', pdf)
    assert.equal(minted.objectKey, `org-a/${kbId}/${minted.documentId}/source.pdf`)
    assert.ok(minted.uploadUrl.startsWith(`${api.url}/objects/${minted.objectKey}?`))
    assert.deepEqual(minted.upload, {
      method: 'PUT',
      headers: { 'content-type': 'application/pdf' },
    })
    const { status, filename } = await client.document(kbId, minted.documentId)
    assert.deepEqual([status, filename], ['pending', 'Übersicht 2025.PDF'])
  })
})

describe('an upload', () => {
  const change =
    (part: string, value: string) =>
    (minted: Minted): Minted => {
      const url = new URL(minted.uploadUrl)
      url.searchParams.set(part, value)
      return { ...minted, uploadUrl: url.href }
    }

  test.each<[string, (minted: Minted) => Minted, number]>([
    ['more bytes than granted', change('max', '999999999'), 403],
    ['more time than granted', change('expires', '9999999999999'), 403],
    ['another type than granted', change('type', 'text/html'), 403],
    ['no signature', change('signature', ''), 403],
    [
      'another key',
      (minted) => ({ ...minted, uploadUrl: minted.uploadUrl.replace('org-a', 'org-b') }),
      403,
    ],
    [
      'a key outside the folder',
      (minted) => ({ ...minted, uploadUrl: minted.uploadUrl.replace('org-a', '..%2f..') }),
      403,
    ],
    [
      'another content type',
      (minted) => ({
        ...minted,
        upload: { method: 'PUT', headers: { 'content-type': 'text/html' } },
      }),
      415,
    ],
  ])('with %s is refused', async (_what, alter, status) => {
    const fixture = await openFixture()
    const client = await (await fixture.startApi()).as(ada)
    const minted = await client.mint(kbId, 'a.pdf', pdf)
    assert.equal((await send(alter(minted), pdf)).status, status)
    assert.equal(await fixture.ingestion.uploads.head(minted.objectKey), undefined)
    assert.equal((await fixture.ingestion.mill.queues.ingest.statistics()).totals.sent, 0)
    // The original URL is still valid.
    assert.equal((await send(minted, pdf)).status, 200)
  })

  test('that is too large is cut off, with and without a content length', async () => {
    const fixture = await openFixture()
    const client = await (await fixture.startApi({ uploadBytesMax: 1_000 })).as(ada)
    const minted = await client.mint(kbId, 'a.pdf', pdf)
    assert.equal((await send(minted, new Uint8Array(1_001))).status, 413)
    const body = new ReadableStream({
      start(controller) {
        for (let piece = 0; piece < 20; piece += 1) controller.enqueue(new Uint8Array(100))
        controller.close()
      },
    })
    const headers = { 'content-type': 'application/pdf' }
    const request = { method: 'PUT', headers, body, duplex: 'half' } as const
    assert.equal((await fetch(minted.uploadUrl, request)).status, 413)
    assert.equal(await fixture.ingestion.uploads.head(minted.objectKey), undefined)
  })

  test('that is interrupted is not a server error, and can be repeated', async () => {
    const fixture = await openFixture()
    const client = await (await fixture.startApi()).as(ada)
    const minted = await client.mint(kbId, 'a.pdf', pdf)
    const headers = { 'content-type': 'application/pdf', expect: '100-continue' }
    const upload = request(minted.uploadUrl, { method: 'PUT', headers })
    upload.flushHeaders()
    await once(upload, 'continue')
    upload.write(pdf, () => upload.destroy())
    await once(upload, 'error')
    const isLogged = () => fixture.lines.some(({ message }) => message === 'upload interrupted')
    await until(isLogged, 'the interruption is logged')
    assert.deepEqual(
      fixture.lines.filter(({ level }) => level === 'error'),
      [],
    )
    assert.equal((await send(minted, pdf)).status, 200)
  })

  test('is refused after a quarter of an hour', async () => {
    const ports = virtualPorts()
    const fixture = await openFixture({ ports })
    const client = await (await fixture.startApi()).as(ada)
    const minted = await client.mint(kbId, 'a.pdf', pdf)
    ports.clock.sleep(15 * 60_000)
    const answer = await send(minted, pdf)
    assert.equal(answer.status, 403)
    assert.match(await answer.text(), /expired/)
  })

  test('is accepted once', async () => {
    const fixture = await openFixture()
    const client = await (await fixture.startApi()).as(ada)
    const minted = await client.mint(kbId, 'a.pdf', pdf)
    assert.equal((await send(minted, pdf)).status, 200)
    assert.equal((await send(minted, pdf)).status, 409)
    assert.equal((await fixture.ingestion.mill.queues.ingest.statistics()).totals.sent, 1)
  })
})

describe('a document', () => {
  test.each<[string, () => Uint8Array | Promise<Uint8Array>, string, RegExp]>([
    ['is encrypted', () => encryptedPdf('secret'), 'a.pdf', /password/],
    ['is broken', () => pdf, 'a.pdf', /damaged/],
    ['is empty', () => new Uint8Array(), 'a.pdf', /empty/],
    [
      'is a PDF with the extension of a DOCX',
      () => samplePdf(millChapters),
      'a.docx',
      /does not match/,
    ],
    ['has no text', () => samplePdf([{ title: '', paragraphs: [] }]), 'a.pdf', /no text/],
  ])('that %s fails at the first attempt, with a reason', async (_what, make, filename, reason) => {
    const fixture = await openFixture()
    const client = await (await fixture.startApi()).as(ada)
    fixture.startWorker()
    const documentId = await client.upload(kbId, filename, await make())
    const { status, failure } = await client.ended(kbId, documentId)
    assert.equal(status, 'failed')
    assert.match(failure ?? '', reason)
    const { ingest } = fixture.ingestion.mill.queues
    const { totals, ready, leased, delayed } = await ingest.statistics()
    assert.deepEqual([totals.received, ready + leased + delayed], [1, 0])
    assert.equal((await ingest.deadLetters.statistics()).ready, 0)
  })
})

describe('page images', () => {
  test('are served only to their organisation', async () => {
    const fixture = await openFixture()
    const api = await fixture.startApi()
    const { cache } = fixture.ingestion
    await cache.put('org-a/doc/pages/0001.png', new Uint8Array([1]), 'image/png')
    await cache.put('org-a/doc/parse.json', '{}', 'application/json')
    const [own, other] = [await api.as(ada), await api.as(bob)]
    const status = async (path: string, client = own): Promise<number> =>
      (await client.ask(`/api/cache/${path}`)).status
    assert.equal(await status('org-a/doc/pages/0001.png'), 200)
    assert.equal(await status('org-a/doc/pages/0001.png', other), 404)
    assert.equal(await status('org-a/doc/pages/0002.png'), 404)
    assert.equal(await status('org-a/doc/parse.json'), 404)
    assert.equal(await status('org-a/..%2f..%2fqueues%2fmillrace.db'), 404)
    assert.equal((await fetch(`${api.url}/api/cache/org-a/doc/pages/0001.png`)).status, 401)
  })

  test('that cannot be read return an error, and its code is logged', async () => {
    const fixture = await openFixture()
    const client = await (await fixture.startApi()).as(ada)
    const image = 'org-a/doc/pages/0001.png'
    await mkdir(join(fixture.ingestion.environment.INGESTION_DATA, 'cache', image), {
      recursive: true,
    })
    assert.equal((await client.ask(`/api/cache/${image}`)).status, 500)
    assert.deepEqual(fixture.lines.at(-1), {
      level: 'error',
      message: 'request failed',
      fields: { name: 'Error', code: 'EISDIR', path: '/api/cache/*' },
    })
  })
})

describe('notifications of S3', () => {
  const EVENTS_SECRET = 'e'.repeat(32)

  test('start waiting documents once, and need the secret', async () => {
    const fixture = await openFixture({ variables: { EVENTS_SECRET } })
    const api = await fixture.startApi()
    const client = await api.as(ada)
    const { objectKey } = await client.mint(kbId, 'a.pdf', pdf)
    const record = (key: string, eventName = 'ObjectCreated:Put') => ({
      eventName,
      s3: { object: { key: encodeURIComponent(key) } },
    })
    const tell = (Records: unknown, token?: string) => notify(api.url, { Records }, token)
    assert.equal((await tell([record(objectKey)], 'guessed'))[0], 401)
    assert.equal((await tell('nonsense'))[0], 400)
    const others = [record(objectKey, 'ObjectRemoved:Delete'), record('org-a/unknown'), record('%')]
    assert.deepEqual(await tell(others), [202, { documents: 0 }])
    assert.deepEqual(await tell([record(objectKey)]), [202, { documents: 1 }])
    assert.equal((await fixture.ingestion.mill.queues.ingest.statistics()).totals.sent, 1)
  })

  test('can have the format of EventBridge', async () => {
    const fixture = await openFixture({ variables: { EVENTS_SECRET } })
    const api = await fixture.startApi()
    const { objectKey } = await (await api.as(ada)).mint(kbId, 'a.pdf', pdf)
    const tell = (type: string, key = objectKey) =>
      notify(api.url, {
        source: 'aws.s3',
        'detail-type': type,
        detail: { bucket: { name: 'uploads' }, object: { key, size: 1 } },
      })
    assert.deepEqual(await tell('Object Deleted'), [202, { documents: 0 }])
    assert.deepEqual(await tell('Object Created', 'org-a/unknown'), [202, { documents: 0 }])
    assert.deepEqual(await tell('Object Created'), [202, { documents: 1 }])
    assert.equal((await fixture.ingestion.mill.queues.ingest.statistics()).totals.sent, 1)
  })

  async function notify(url: string, event: unknown, token = EVENTS_SECRET): Promise<unknown[]> {
    const answer = await fetch(`${url}/events/object-created`, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      body: JSON.stringify(event),
    })
    return [answer.status, await answer.json()]
  }
})
