import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, onTestFinished, test, vi } from 'vitest'
import { z } from 'zod'
import { temporaryFolder } from '../../test/support/temporary-folder.ts'
import type { Backend } from '../backends/backend.ts'
import { openSqlite } from '../backends/sqlite/index.ts'
import { chain } from '../contracts/chain-declaration.ts'
import { defineApp } from '../contracts/define-app.ts'
import { flow } from '../contracts/flow-declaration.ts'
import { fifo, queue } from '../contracts/queue-declaration.ts'
import { MillraceError } from '../core/millrace-error.ts'
import { virtualPorts } from '../testing/virtual-clock.ts'
import type { Notice } from './notice.ts'
import { open } from './open.ts'

const Video = z.object({ fileKey: z.string(), size: z.string().transform(Number) })

const academy = defineApp('academy', {
  queues: {
    video: queue({ schema: Video, visibilityTimeout: '5m', deadLetter: { after: 3 } }),
    frames: queue({ schema: z.object({ frame: z.number() }) }),
    attempts: fifo({ schema: z.object({ attempt: z.number() }) }),
  },
})

/** A place for a store that does not exist yet; kept for a look when its test fails. */
async function freshData(): Promise<string> {
  const folder = await temporaryFolder('open')
  onTestFinished(async ({ task }) => {
    if (task.result?.state === 'pass') await folder.remove()
  })
  return folder.file('data')
}

async function freshBackend(): Promise<Backend> {
  const folder = await freshData()
  const backend = await openSqlite({ file: `${folder}.db` })
  onTestFinished(() => backend.close())
  return backend
}

describe('an open app', () => {
  test('carries a message from its send to its acknowledgement', async () => {
    const data = await freshData()
    await using mill = await open(academy, { data })
    const sent = await mill.queues.video.send({ fileKey: 'a.mp4', size: '42' })
    assert.equal(sent.status, 'created')
    const [delivery] = await mill.queues.video.receive()
    assert.deepEqual(delivery?.message, { fileKey: 'a.mp4', size: 42 })
    assert.equal(delivery.id, sent.id)
    assert.equal((await delivery.acknowledge()).status, 'settled')
    assert.equal((await delivery.acknowledge()).status, 'gone')
    assert.ok(existsSync(join(data, 'millrace.db')))
  })

  test('sends what a delivery emits with its acknowledgement', async () => {
    await using mill = await open(academy, { data: await freshData() })
    await mill.queues.video.send({ fileKey: 'a.mp4', size: '1' })
    const [video] = await mill.queues.video.receive()
    const emits = [1, 2].map((frame) => mill.queues.frames.prepare({ frame }))
    await video?.acknowledge({ emits })
    const frames = await mill.queues.frames.receive({ max: 10 })
    assert.deepEqual(
      frames.map(({ message }) => message.frame),
      [1, 2],
    )
  })

  test('keeps a delivery when what it emits does not match its contract', async () => {
    await using mill = await open(academy, { data: await freshData() })
    await mill.queues.video.send({ fileKey: 'a.mp4', size: '1' })
    const [video] = await mill.queues.video.receive()
    const bad = mill.queues.frames.prepare({ frame: Number.NaN })
    assert.ok(video !== undefined)
    await assert.rejects(video.acknowledge({ emits: [bad] }), {
      code: 'invalid_message',
      message: /frame/,
    })
    assert.equal((await video.acknowledge()).status, 'settled')
  })

  test('keeps order and sends once on a FIFO queue', async () => {
    await using mill = await open(academy, { data: await freshData() })
    const { attempts } = mill.queues
    const first = await attempts.send({ attempt: 1 }, { group: 'g', deduplicationId: 'one' })
    const again = await attempts.send({ attempt: 1 }, { group: 'g', deduplicationId: 'one' })
    assert.deepEqual(again, { ...first, status: 'duplicate' })
    await attempts.sendMany([{ attempt: 2 }, { attempt: 3 }], ({ attempt }) => ({
      group: 'g',
      deduplicationId: String(attempt),
    }))
    const deliveries = await attempts.receive({ max: 10 })
    assert.deepEqual(
      deliveries.map(({ message, group }) => [message.attempt, group]),
      [
        [1, 'g'],
        [2, 'g'],
        [3, 'g'],
      ],
    )
  })

  test('keeps its messages over a restart', async () => {
    const data = await freshData()
    const before = await open(academy, { data })
    await before.queues.frames.send({ frame: 7 })
    await before.close()
    await using after = await open(academy, { data })
    const [delivery] = await after.queues.frames.receive()
    assert.deepEqual(delivery?.message, { frame: 7 })
  })

  test('ends a waiting receive when it closes', async () => {
    const mill = await open(academy, { data: await freshData() })
    const waiting = mill.queues.frames.receive({ wait: '20s' })
    await mill.close()
    assert.deepEqual(await waiting, [])
  })

  test('closes once, however often it is told to', async () => {
    const mill = await open(academy, { data: await freshData() })
    assert.equal(mill.close(), mill.close())
    await mill.close()
    await assert.rejects(mill.queues.frames.send({ frame: 1 }), { code: 'store_closed' })
  })
})

describe('the log of an app', () => {
  test.each([true, null, {}, { info: () => undefined }, 'stderr'])(
    'is refused if it is neither a logger nor false: %o',
    async (log) => {
      const app = defineApp('shop', { queues: { orders: queue() } })
      const { path, remove } = await temporaryFolder('open')
      onTestFinished(remove)
      const given = log as unknown as false
      await assert.rejects(open(app, { data: join(path, 'data'), log: given }), (error) => {
        assert.ok(error instanceof MillraceError)
        assert.match(error.message, /log.*a logger with debug, info, warn, error, or false/s)
        return true
      })
      assert.equal(existsSync(join(path, 'data')), false)
    },
  )
})

describe('a message from elsewhere that does not match the contract', () => {
  test('is dead-lettered with the reason, and reported', async () => {
    const backend = await freshBackend()
    const notices: Notice[] = []
    await using mill = await open(academy, { backend, onNotice: (one) => void notices.push(one) })
    const { name } = mill.queues.video
    await backend.send({ queue: name, messages: [{ body: '{"fileKey":1}' }] })
    assert.deepEqual(await mill.queues.video.receive(), [])
    const [dead] = await backend.receive({ queue: `${name}-dlq`, max: 1 })
    assert.equal(dead?.deadLetterOrigin?.source, name)
    assert.match(
      dead.deadLetterOrigin.reason ?? '',
      /message.fileKey: got a number, expected string/,
    )
    const [notice] = notices
    assert.ok(notice?.kind === 'delivery_refused' && notice.fate === 'dead_lettered')
  })

  test('becomes a process warning without a listener', async () => {
    const backend = await freshBackend()
    await using mill = await open(academy, { backend })
    await backend.send({ queue: mill.queues.frames.name, messages: [{ body: 'pa55word' }] })
    const warned = vi.spyOn(process, 'emitWarning').mockReturnValue()
    onTestFinished(() => warned.mockRestore())
    assert.deepEqual(await mill.queues.frames.receive(), [])
    const [text = '', options] = warned.mock.calls[0] ?? []
    assert.match(String(text), /^Message \S+ of academy-dev-frames, received 1 time, stays in the/)
    assert.ok(!String(text).includes('pa55word'))
    assert.deepEqual(options, { type: 'MillraceWarning', code: 'delivery_refused' })
  })
})

describe('the queues on the backend', () => {
  test('are created with their dead-letter queues', async () => {
    const backend = await freshBackend()
    await using _mill = await open(academy, { backend })
    const { items } = await backend.listQueues({ limit: 10 })
    assert.deepEqual(
      items.map(({ name }) => name),
      [
        'academy-dev-attempts.fifo',
        'academy-dev-frames',
        'academy-dev-video',
        'academy-dev-video-dlq',
      ],
    )
    const video = items.find(({ name }) => name === 'academy-dev-video')
    assert.equal(video?.settings.visibilityMs, 300_000)
    const deadLetter = { queue: 'academy-dev-video-dlq', maxReceives: 3 }
    assert.deepEqual(video.settings.deadLetter, deadLetter)
  })

  test('follow the declaration when it changes, and keep what is not declared', async () => {
    const backend = await freshBackend()
    const versions = [
      queue({ name: 'q', visibilityTimeout: '5m', tags: { team: 'a' }, deadLetter: { after: 3 } }),
      queue({ name: 'q', retention: '1d', tags: { stage: 'b' } }),
    ]
    for (const version of versions) {
      const mill = await open(defineApp('app', { queues: { version } }), { backend })
      await mill.close()
      await backend.changeQueue({ queue: 'q', changes: { annotations: { policy: '{}' } } })
    }
    const { settings, tags } = await backend.readQueue({ queue: 'q' })
    assert.equal(settings.visibilityMs, 30_000)
    assert.equal(settings.retentionMs, 86_400_000)
    assert.equal(settings.deadLetter, null)
    assert.deepEqual(settings.annotations, { policy: '{}' })
    assert.deepEqual(tags, { team: 'a', stage: 'b' })
  })

  test('are left as they are when nothing has changed', async () => {
    const backend = await freshBackend()
    await (await open(academy, { backend })).close()
    const before = await backend.listQueues({ limit: 10 })
    await (await open(academy, { backend })).close()
    assert.deepEqual(await backend.listQueues({ limit: 10 }), before)
  })

  test('do not change their type', async () => {
    const backend = await freshBackend()
    const video = { ...(await createdVideo(backend)) }
    const other: Backend = {
      ...backend,
      createQueue: () => Promise.reject(new MillraceError('queue_exists')),
      readQueue: async () => ({ ...video, settings: { ...video.settings, type: 'fifo' } }),
    }
    const app = defineApp('academy', { queues: { video: queue() } })
    await assert.rejects(open(app, { backend: other }), {
      code: 'queue_exists',
      message: /is declared as standard but exists as fifo/,
    })
  })

  test('are refused where the backend cannot hold them', async () => {
    const backend = await freshBackend()
    const capabilities = { ...backend.capabilities, name: 'small', fifo: false, delayMsMax: 1_000 }
    const app = defineApp('app', { queues: { ordered: fifo(), late: queue({ delay: '1m' }) } })
    await assert.rejects(open(app, { backend: { ...backend, capabilities } }), {
      code: 'unsupported',
      message:
        'app-dev-ordered.fifo: got a FIFO queue, expected standard queues only on small\n' +
        'app-dev-late: got a delay of 60000 ms, expected at most 1000 ms on small',
    })
    assert.deepEqual((await backend.listQueues({ limit: 10 })).items, [])
  })

  test('are not made for flows and chains where the backend keeps none', async () => {
    const backend = await freshBackend()
    const capabilities = { ...backend.capabilities, name: 'small', flows: false }
    const app = defineApp('app', {
      queues: { pages: queue() },
      flows: { document: flow({ units: 'pages' }) },
      chains: { course: chain({ steps: [{ name: 'first', queue: 'pages' }] }) },
    })
    await assert.rejects(open(app, { backend: { ...backend, capabilities, flows: null } }), {
      code: 'unsupported',
      message:
        'flows.document: got a flow, expected no flows or chains: the backend small does not support them\n' +
        'chains.course: got a chain, expected no flows or chains: the backend small does not support them',
    })
    assert.deepEqual((await backend.listQueues({ limit: 10 })).items, [])
  })
})

async function createdVideo(backend: Backend): ReturnType<Backend['readQueue']> {
  return (await backend.createQueue({ queue: 'academy-dev-video' })).queue
}

describe('the stage', () => {
  const staged = defineApp('academy', { stage: 'own', queues: { video: queue() } })
  const nameWith = async (stage?: string): Promise<string> => {
    const backend = await freshBackend()
    const mill = await open(staged, { backend, ...(stage === undefined ? {} : { stage }) })
    await mill.close()
    assert.equal(mill.stage, mill.queues.video.name.split('-')[1])
    return mill.queues.video.name
  }

  test('is the one given, else that of the environment, else that of the app', async () => {
    assert.equal(await nameWith(), 'academy-own-video')
    vi.stubEnv('MILLRACE_STAGE', 'test')
    onTestFinished(() => void vi.unstubAllEnvs())
    assert.equal(await nameWith(), 'academy-test-video')
    assert.equal(await nameWith('prod'), 'academy-prod-video')
  })

  test('must fit into the names of queues', async () => {
    await assert.rejects(nameWith('my stage'), {
      code: 'invalid_contract',
      message: /stage: got 'my stage'/,
    })
    await assert.rejects(nameWith('s'.repeat(80)), {
      code: 'invalid_contract',
      message: /queues\.video\.name/,
    })
  })
})

describe('the place of the store', () => {
  test('comes from the environment when none is given', async () => {
    const data = await freshData()
    vi.stubEnv('MILLRACE_DATA', data)
    onTestFinished(() => void vi.unstubAllEnvs())
    await using _mill = await open(academy)
    assert.ok(existsSync(join(data, 'millrace.db')))
  })

  test('is named when it cannot be used', async () => {
    const file = `${await freshData()}.txt`
    await writeFile(file, 'not a directory')
    const data = join(file, 'inside')
    const message = new RegExp(`^Cannot use ${data} as the data directory`)
    await assert.rejects(open(academy, { data }), { code: 'store_unusable', message })
  })

  test('is not touched when the declaration does not fit', async () => {
    const data = await freshData()
    await assert.rejects(open(academy, { data, stage: ' ' }), {
      code: 'invalid_contract',
      message: /stage/,
    })
    assert.equal(existsSync(data), false)
  })
})

describe('maintenance', () => {
  test('runs while the app is open, and reports when it fails', async () => {
    const ports = virtualPorts()
    const backend = await freshBackend()
    const error = new MillraceError('store_full')
    let slices = 0
    const failing: Backend = {
      ...backend,
      async sweep() {
        slices += 1
        throw error
      },
    }
    const notices: Notice[] = []
    const mill = await open(academy, {
      backend: failing,
      ports,
      onNotice: (notice) => void notices.push(notice),
    })
    await ports.clock.advance(1_000)
    assert.deepEqual(notices, [{ kind: 'sweep_failed', error, failures: 1, retryInMs: 2_000 }])
    await mill.close()
    await ports.clock.advance(60_000)
    assert.equal(slices, 1)
  })

  test('leaves a backend open that the caller opened', async () => {
    const backend = await freshBackend()
    const mill = await open(academy, { backend })
    await mill.close()
    await backend.check()
  })
})
