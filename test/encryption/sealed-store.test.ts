import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, onTestFinished, test } from 'vitest'
import type { EncryptionKey } from '../../src/app/encryption-keys.ts'
import { openBackend } from '../../src/app/open-backend.ts'
import type { Backend } from '../../src/backends/backend.ts'
import { rekey } from '../../src/operations/rekey.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

const marker = 'MARKER-that-must-not-be-readable'
const first: EncryptionKey = { id: 'first', key: randomBytes(32) }
const second: EncryptionKey = { id: 'second', key: randomBytes(32).toString('base64') }
const large = `"${marker}${'x'.repeat(5_000)}"`

interface Scene {
  readonly path: string
  open(keys?: readonly EncryptionKey[]): Promise<Backend>
  /** Whether any file of the store holds the marker in the clear. */
  isReadable(): Promise<boolean>
}

async function newScene(): Promise<Scene> {
  const folder = await temporaryFolder('sealed')
  const opened: Backend[] = []
  onTestFinished(async () => {
    for (const backend of opened) await backend.close()
    await folder.remove()
  })
  return {
    path: folder.path,
    async open(encryptionKeys) {
      const { backend } = await openBackend({ store: folder.path, create: true, encryptionKeys })
      opened.push(backend)
      return backend
    },
    async isReadable() {
      const files = await readdir(folder.path)
      const texts = await Promise.all(files.map((file) => readFile(join(folder.path, file))))
      return texts.some((text) => text.includes(marker))
    },
  }
}

const queue = 'work'
const body = JSON.stringify({ secret: marker })
const job = { type: 'T', payload: body, maxAttempts: 3 }

/** Puts the marker into every place that holds content. */
async function fill(backend: Backend): Promise<void> {
  const { jobs, flows, collectors, inboxes, schedules } = backend
  assert.ok(jobs && flows && collectors && inboxes && schedules)
  await backend.createQueue({ queue: 'dead' })
  const deadLetter = { queue: 'dead', maxReceives: 3 }
  await backend.createQueue({ queue, settings: { deadLetter } })
  await backend.createQueue({ queue: 'jobs', settings: { deadLetter } })
  await backend.createQueue({
    queue: 'ordered.fifo',
    settings: { type: 'fifo', deduplicateByContent: true },
  })
  await backend.send({ queue: 'ordered.fifo', messages: [{ body, group: 'g' }] })
  const attributes = { about: { type: 'String', value: marker } }
  await backend.send({ queue, messages: [{ body, attributes }, { body: large }, { body }] })
  const [dying] = await backend.receive({ queue, max: 1 })
  assert.ok(dying)
  const reason = `failed with ${marker}`
  const details = { name: 'Error', message: marker, stack: `at ${marker}` }
  const failure = { ...details, causes: [details] }
  const line = {
    at: 1,
    level: 'info',
    message: marker,
    fields: { about: marker, count: 1 },
  } as const
  const logs = [line]
  const outcome = { kind: 'deadLetter', reason } as const
  await backend.settle({ queue, settlements: [{ receipt: dying.receipt, outcome }] })
  await jobs.enqueue({
    queue: 'jobs',
    jobs: [
      { ...job, attributes },
      { ...job, idempotency: { key: 'k', lifetimeMs: 60_000 } },
      job,
      job,
    ],
  })
  const deliveries = await backend.receive({ queue: 'jobs', max: 3 })
  const [done, retried, failed] = deliveries
  assert.ok(done && retried && failed)
  await backend.settle({
    queue: 'jobs',
    settlements: [
      { receipt: done.receipt, outcome: { kind: 'acknowledge', result: body } },
      {
        receipt: retried.receipt,
        outcome: { kind: 'retry', delayMs: 0, error: reason, failure },
        logs,
      },
      { receipt: failed.receipt, outcome: { kind: 'deadLetter', reason } },
    ],
  })
  const flow = { flow: 'f', id: '1', sealed: true, onUnitFailure: 'wait', keepMs: 60_000 } as const
  const work = { queue, message: { body, attributes } }
  const finalize = { queue: 'jobs', job }
  const units = [{ id: 'u', work }, { id: 'v' }, { id: 'w' }]
  await flows.open({ ...flow, units, finalize, failed: work, keepsWork: true, data: body })
  await flows.mark({ flow: 'f', id: '1', marks: [{ unit: 'v', state: 'dead', reason }] })
  const trigger = { queue, message: { body: '{"key":"k"}' } }
  const limits = { windowMs: 1_000, maxItems: 10, maxBytes: 10_000, rememberMs: 0 }
  const items = [{ id: 'i', body, order: 0 }]
  await collectors.add({ collector: 'c', key: 'k', items, trigger, ...limits })
  const schedule = { schedule: 's', rule: 'every 1h', target: queue, nextAt: 4_000_000_000_000 }
  const example = { queue, message: { body } }
  await schedules.set({ scope: 'a/dev', schedules: [{ ...schedule, definition: body, example }] })
  const claimed = await inboxes.claim({ queue: 'dead', by: 'ann' })
  assert.equal(claimed.status, 'claimed')
  const { items: listed } = await inboxes.list({ queue: 'dead', limit: 10 })
  const id = listed[0]?.message.id ?? ''
  await inboxes.note({ queue: 'dead', id, by: 'ann', note: marker })
}

/** Reads every place that `fill` wrote to. */
async function readAll(backend: Backend): Promise<string> {
  const { jobs, flows, collectors, inboxes } = backend
  assert.ok(jobs && flows && collectors && inboxes)
  const page = { limit: 100 }
  const peeked = await Promise.all(
    [queue, 'dead', 'ordered.fifo'].flatMap((name) =>
      (['ready', 'leased', 'delayed'] as const).map((state) =>
        backend.peek({ queue: name, state, ...page }),
      ),
    ),
  )
  const list = await jobs.list({ queue: 'jobs', ...page })
  const attempts = await Promise.all(list.items.map(({ id }) => jobs.attempts({ id })))
  const logs = await Promise.all(list.items.map(({ id }) => jobs.logs({ id })))
  const { items: inbox } = await inboxes.list({ queue: 'dead', ...page })
  const notes = await Promise.all(
    inbox.map(({ message }) => inboxes.history({ queue: 'dead', id: message.id })),
  )
  return JSON.stringify([
    peeked,
    list,
    attempts,
    logs,
    await flows.read({ flow: 'f', id: '1' }),
    await flows.units({ flow: 'f', id: '1', ...page }),
    await collectors.read({ collector: 'c', key: 'k', ...page }),
    inbox,
    notes,
    await backend.schedules?.list(page),
  ])
}

function count(text: string): number {
  return text.split(marker).length - 1
}

describe('a store with an encryption key', () => {
  test('holds no content in the clear, and returns all of it', async () => {
    const plain = await newScene()
    const unsealed = await plain.open()
    await fill(unsealed)
    const expected = await readAll(unsealed)
    assert.ok(await plain.isReadable())

    const scene = await newScene()
    const backend = await scene.open([first])
    await fill(backend)
    const read = await readAll(backend)
    assert.equal(count(read), count(expected))
    assert.ok(!read.includes('\\u0001'))
    assert.ok(!(await scene.isReadable()))
  })

  test('cannot be opened without its key, or with another one of its id', async () => {
    const scene = await newScene()
    await (await scene.open([first])).close()
    await assert.rejects(scene.open(), {
      code: 'encryption_key_missing',
      message: /^The store is sealed with the key 'first'\./,
    })
    await assert.rejects(scene.open([second]), { code: 'encryption_key_missing' })
    const impostor = { id: 'first', key: randomBytes(32) }
    await assert.rejects(scene.open([impostor]), {
      code: 'encryption_key_wrong',
      message: "The key 'first' is not the one that the store is sealed with.",
    })
    await scene.open([second, first])
  })

  test('stops a process that has the store open without the key', async () => {
    const scene = await newScene()
    const without = await scene.open()
    await without.createQueue({ queue })
    const sealing = await scene.open([first])
    await sealing.send({ queue, messages: [{ body }] })
    await assert.rejects(without.receive({ queue, max: 1 }), { code: 'encryption_key_missing' })
    await assert.rejects(without.queueStatistics({ queue }), { code: 'encryption_key_missing' })
    assert.equal((await sealing.receive({ queue, max: 1 }))[0]?.body, body)
  })

  test('recognises repeated jobs and messages across keys', async () => {
    const scene = await newScene()
    const withKey = { ...job, idempotency: { key: 'k', lifetimeMs: 60_000 } }
    const plain = await scene.open()
    await plain.createQueue({ queue })
    const [created] = (await plain.jobs?.enqueue({ queue, jobs: [withKey] })) ?? []
    await plain.close()
    for (const keys of [[first], [second, first]]) {
      const backend = await scene.open(keys)
      const [again] = (await backend.jobs?.enqueue({ queue, jobs: [withKey] })) ?? []
      assert.deepEqual(again, { status: 'duplicate', id: created?.id })
      const other = { ...withKey, payload: '{}' }
      await assert.rejects(async () => backend.jobs?.enqueue({ queue, jobs: [other] }), {
        code: 'idempotency_conflict',
      })
      await backend.close()
    }
  })

  test('is sealed with a new key, or for the first time, while it is in use', async () => {
    const scene = await newScene()
    const plain = await scene.open()
    await fill(plain)
    const expected = count(await readAll(plain))
    await plain.close()

    const sealing = await scene.open([first])
    const report = await rekey(sealing)
    assert.ok(report.sealed > 10)
    assert.deepEqual([report.key, report.removed], ['first', []])
    assert.equal(count(await readAll(sealing)), expected)
    assert.equal((await rekey(sealing)).sealed, 0)
    await sealing.close()

    const rotating = await scene.open([second, first])
    assert.deepEqual((await rekey(rotating)).removed, ['first'])
    await rotating.close()
    const backend = await scene.open([second])
    assert.equal(count(await readAll(backend)), expected)
    const mark = { flow: 'f', id: '1', marks: ['u', 'v', 'w'].map(done) }
    assert.equal((await backend.flows?.mark(mark))?.status, 'finalized')
    const delivered = await backend.receive({ queue: 'jobs', max: 10 })
    assert.ok(delivered.length > 0 && delivered.every((delivery) => delivery.body === body))
  })

  test('refuses what a store without a key refuses, by the size in the clear', async () => {
    const scene = await newScene()
    const backend = await scene.open([first])
    await backend.createQueue({ queue, settings: { messageBytesMax: 1_024 } })
    const results = await backend.send({
      queue,
      messages: [{ body: 'a'.repeat(1_024) }, { body: 'a'.repeat(1_025) }, { body: '\u0001v1:' }],
    })
    const codes = results.map((result) => (result.status === 'refused' ? result.error.code : ''))
    assert.deepEqual(codes, ['', 'message_too_large', 'invalid_message'])
  })

  test('refuses keys that are not keys, without showing them', async () => {
    const scene = await newScene()
    const wrong = { id: 'a b', key: 'too-short-secret' }
    await assert.rejects(scene.open([wrong]), (error: Error) => {
      assert.match(error.message, /encryptionKeys\[0\]\.id: .*encryptionKeys\[0\]\.key: /s)
      return !error.message.includes('secret')
    })
    await assert.rejects(scene.open([]), { code: 'invalid_argument' })
    await assert.rejects(scene.open([first, first]), { message: /two keys of one id/ })
  })
})

function done(unit: string): { readonly unit: string; readonly state: 'done' } {
  return { unit, state: 'done' }
}
