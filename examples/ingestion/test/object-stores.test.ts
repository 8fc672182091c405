/** Objects in files and in S3: both store objects, and accept only uploads as granted. */
import assert from 'node:assert/strict'
import { readdir } from 'node:fs/promises'
import { Readable } from 'node:stream'
import { S3Client } from '@aws-sdk/client-s3'
import { describe, onTestFinished, test } from 'vitest'
import { temporaryFolder } from '../../../test/support/temporary-folder.ts'
import { FileObjectStore, ObjectExists, TooLarge } from '../objects/file-object-store.ts'
import { cacheKeys, isObjectKey, sourceKey } from '../objects/object-key.ts'
import { ObjectMissing, type ObjectStore } from '../objects/object-store.ts'
import { S3ObjectStore } from '../objects/s3-object-store.ts'
import { type UploadGrant, UploadSigner } from '../objects/upload-signature.ts'
import { credentials, S3Server } from './s3-server.ts'

const owner = { organizationId: 'org-1', kbId: 'kb-1', documentId: 'doc-1' }
const key = sourceKey({ ...owner, ext: 'pdf' })
const pdf = 'application/pdf'

async function fileStore(): Promise<{ readonly store: FileObjectStore; readonly folder: string }> {
  const folder = await temporaryFolder('objects')
  onTestFinished(() => folder.remove())
  return { store: new FileObjectStore({ folder: folder.path }), folder: folder.path }
}

async function s3Store(now?: () => number): Promise<{ store: S3ObjectStore; server: S3Server }> {
  const server = await S3Server.start(now)
  onTestFinished(() => server[Symbol.asyncDispose]())
  const client = new S3Client({
    region: 'us-east-1',
    endpoint: server.url,
    forcePathStyle: true,
    credentials,
  })
  onTestFinished(() => client.destroy())
  return { store: new S3ObjectStore({ client, bucket: 'uploads' }), server }
}

describe('keys', () => {
  test('begin with the organisation, and are built from ids', () => {
    assert.equal(key, 'org-1/kb-1/doc-1/source.pdf')
    assert.equal(cacheKeys(owner).page(7), 'org-1/doc-1/pages/0007.png')
    assert.ok(isObjectKey(key))
  })

  test.each([
    '../etc/passwd',
    'org/../../x',
    '/org/x',
    'org//x',
    'org/.hidden',
    'org/x/',
    'org\\x',
    'org/%2e%2e/x',
    'org/x\0',
    'one',
    '',
  ])('cannot be %j', (text) => {
    assert.equal(isObjectKey(text), false)
  })
})

describe.each<[string, () => Promise<ObjectStore>]>([
  ['files', async () => (await fileStore()).store],
  ['S3', async () => (await s3Store()).store],
])('objects in %s', (_where, open) => {
  test('are read as they were written', async () => {
    const store = await open()
    await store.put('org-1/a.json', '{"é":1}', 'application/json')
    await store.put(key, new Uint8Array([1, 2, 3]), pdf)
    assert.equal((await store.get('org-1/a.json')).toString(), '{"é":1}')
    assert.deepEqual([...(await store.get(key))], [1, 2, 3])
    assert.deepEqual(await store.head(key), { bytes: 3, contentType: pdf })
  })

  test('that do not exist are missing', async () => {
    const store = await open()
    await assert.rejects(store.get(key), ObjectMissing)
    assert.equal(await store.head(key), undefined)
  })
})

describe('an upload into files', () => {
  test('is complete, and accepted once', async () => {
    const { store, folder } = await fileStore()
    await store.receive(key, Readable.from([Buffer.from('ab'), Buffer.from('c')]), 3)
    assert.equal((await store.get(key)).toString(), 'abc')
    await assert.rejects(store.receive(key, Readable.from([Buffer.from('x')]), 3), ObjectExists)
    assert.equal((await store.get(key)).toString(), 'abc')
    assert.deepEqual(await filesIn(folder), ['source.pdf'])
  })

  test('that is too large is cut off, and leaves nothing', async () => {
    const { store, folder } = await fileStore()
    let taken = 0
    const endless = Readable.from(
      (function* () {
        for (;;) {
          taken += 1
          yield Buffer.alloc(1_000)
        }
      })(),
    )
    await assert.rejects(store.receive(key, endless, 10_000), TooLarge)
    assert.ok(taken < 100, `${taken} chunks were read`)
    assert.deepEqual(await filesIn(folder), [])
  })

  test('that is interrupted leaves nothing', async () => {
    const { store, folder } = await fileStore()
    const broken = Readable.from(
      (function* () {
        yield Buffer.from('half')
        throw new Error('connection lost')
      })(),
    )
    await assert.rejects(store.receive(key, broken, 10_000), /connection lost/)
    assert.deepEqual(await filesIn(folder), [])
  })
})

describe('a signed URL', () => {
  const grant: UploadGrant = { key, contentType: pdf, bytesMax: 100, expiresAt: 1_000 }
  const signer = new UploadSigner({ secret: 'a', now: () => 999 })
  const query = (signed: string): Record<string, string> =>
    Object.fromEntries(new URLSearchParams(signed))

  test('grants what was signed', () => {
    assert.deepEqual(signer.verify(key, query(signer.sign(grant))), { grant })
  })

  test.each([
    ['key', { key: 'org-2/kb-1/doc-1/source.pdf' }],
    ['type', { contentType: 'text/html' }],
    ['size', { bytesMax: 101 }],
    ['end', { expiresAt: 1_001 }],
  ])('is not valid with another %s', (_what, change) => {
    const { signature = '' } = query(signer.sign(grant))
    const altered = { ...grant, ...change }
    const forged = { ...query(signer.sign(altered)), signature }
    assert.deepEqual(signer.verify(altered.key, forged), { refusal: 'altered' })
  })

  test('is not valid without its parts, or with a signature by another key', () => {
    assert.deepEqual(signer.verify(key, {}), { refusal: 'altered' })
    const other = new UploadSigner({ secret: 'b', now: () => 999 })
    assert.deepEqual(signer.verify(key, query(other.sign(grant))), { refusal: 'altered' })
  })

  test('expires', () => {
    const late = new UploadSigner({ secret: 'a', now: () => 1_000 })
    assert.deepEqual(late.verify(key, query(late.sign(grant))), { refusal: 'expired' })
  })
})

describe('an upload into S3', () => {
  const request = { key, contentType: pdf, bytesMax: 10, expiresInMs: 60_000 }

  async function upload(store: ObjectStore, size: number, change: object = {}): Promise<number> {
    const ticket = await store.ticketFor(request)
    assert.ok(ticket.method === 'POST')
    const form = new FormData()
    const fields = { ...ticket.fields, ...change }
    for (const [name, value] of Object.entries(fields)) form.append(name, String(value))
    form.append('file', new Blob([new Uint8Array(size)]))
    return (await fetch(ticket.url, { method: 'POST', body: form })).status
  }

  test('needs no credentials, and must have the granted type and size', async () => {
    const { store } = await s3Store()
    assert.equal(await upload(store, 10), 204)
    assert.deepEqual(await store.head(key), { bytes: 10, contentType: pdf })
  })

  test.each([
    ['is too large', 11, {}, 400],
    ['is of another type', 10, { 'Content-Type': 'text/html' }, 403],
    ['has another key', 10, { key: 'org-2/x' }, 403],
    ['has another policy', 10, { Policy: 'e30=' }, 403],
  ])('is refused if it %s', async (_what, size, change, status) => {
    const { store, server } = await s3Store()
    assert.equal(await upload(store, size, change), status)
    assert.equal(server.objects.size, 0)
  })

  test('is refused after it has expired', async () => {
    const { store, server } = await s3Store(() => Date.now() + 61_000)
    assert.equal(await upload(store, 10), 403)
    assert.equal(server.objects.size, 0)
  })
})

/** Names of all files below a folder. */
async function filesIn(folder: string): Promise<readonly string[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true })
  return entries.filter((entry) => entry.isFile()).map(({ name }) => name)
}
