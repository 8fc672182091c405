import assert from 'node:assert/strict'
import { DatabaseSync } from 'node:sqlite'
import { describe, onTestFinished, test, vi } from 'vitest'
import { z } from 'zod'
import { inTemporaryFolder } from '../../test/support/temporary-folder.ts'
import type { Notice } from '../app/notice.ts'
import { alarm } from '../contracts/alarm-declaration.ts'
import { type App, defineApp } from '../contracts/define-app.ts'
import { deadLetter, release, retryIn } from '../contracts/handler-outcome.ts'
import { jobs } from '../contracts/jobs-declaration.ts'
import { fifo, queue } from '../contracts/queue-declaration.ts'
import { schedule } from '../contracts/schedule-declaration.ts'
import { openForTest, type TestMill, type TestOptions } from './open-for-test.ts'
import { settleTurns } from './virtual-clock.ts'

const Scan = z.object({ file: z.string() })

const shop = defineApp('shop', {
  queues: {
    scans: jobs({ types: { OCR: Scan, THUMBNAIL: Scan }, deadLetter: {} }),
    tidying: jobs({ types: { TIDY: { schema: z.string(), run: (what) => `tidy ${what}` } } }),
    mail: queue({ schema: z.object({ to: z.string(), on: z.coerce.date().optional() }) }),
    steps: fifo({ deduplication: 'content' }),
  },
  schedules: { hourly: schedule({ every: '1h', send: { queue: 'steps' } }) },
})

async function opened<const Opened extends App>(
  app: Opened,
  options?: TestOptions<Opened>,
): Promise<TestMill<Opened>> {
  const mill = await openForTest(app, options)
  onTestFinished(() => mill.close())
  return mill
}

const read = ({ file }: { readonly file: string }): string => `the text of ${file}`
const handle = { OCR: read, THUMBNAIL: read }

describe('an app that is opened for a test', () => {
  test('runs nothing until it is drained', async () => {
    const mill = await opened(shop, { handle })
    const { id } = await mill.jobs.enqueue('scans', 'OCR', { file: 'p1' })
    await mill.clock.advance('1h')
    assert.equal((await mill.jobs.get(id))?.status, 'pending')
    const { completed, errors } = await mill.drain()
    assert.deepEqual([completed, errors], [1, []])
    const job = await mill.jobs.get(id)
    assert.deepEqual([job?.status, job?.result], ['completed', 'the text of p1'])
  })

  test('is the same in each run, and another with another seed', async () => {
    const run = async (seed: number): Promise<unknown> => {
      const mill = await opened(shop, {
        seed,
        handle: { ...handle, OCR: () => assert.fail('the scanner is on fire') },
      })
      await mill.jobs.enqueue('scans', 'OCR', { file: 'p1' })
      await mill.queues.mail.send({ to: 'ada' })
      await mill.advance('1h')
      return [await mill.jobs('scans'), await mill.sent('mail'), await mill.sent('steps')]
    }
    assert.deepEqual(await run(1), await run(1))
    assert.notDeepEqual(await run(1), await run(2))
  })

  test('starts at the given time', async () => {
    const now = new Date('2030-05-17T08:00:00Z')
    const mill = await opened(shop, { now })
    await mill.queues.mail.send({ to: 'ada' })
    assert.deepEqual(mill.now(), now)
    assert.equal((await mill.sent('mail'))[0]?.sentAt, now.getTime())
    await mill.advance('90s')
    assert.equal(mill.now().toISOString(), '2030-05-17T08:01:30.000Z')
  })

  test('runs handlers one after the other, or as many at once as it is told', async () => {
    const mostAtOnce = async (concurrency?: number): Promise<number> => {
      let [running, most] = [0, 0]
      const OCR = async (): Promise<void> => {
        running += 1
        most = Math.max(most, running)
        await settleTurns()
        running -= 1
      }
      const limit = concurrency === undefined ? {} : { concurrency }
      const mill = await opened(shop, { handle: { ...handle, OCR }, ...limit })
      for (const file of ['p1', 'p2', 'p3']) await mill.jobs.enqueue('scans', 'OCR', { file })
      await mill.drain()
      return most
    }
    assert.equal(await mostAtOnce(), 1)
    assert.equal(await mostAtOnce(3), 3)
  })

  test('runs job types that declare their handler, and leaves queues without handlers alone', async () => {
    const mill = await opened(shop)
    await mill.jobs.enqueue('tidying', 'TIDY', 'the desk')
    await mill.jobs.enqueue('scans', 'OCR', { file: 'p1' })
    await mill.drain()
    const results = async (key: 'tidying' | 'scans'): Promise<unknown> =>
      (await mill.jobs(key)).map(({ status, result }) => [status, result])
    assert.deepEqual(await results('tidying'), [['completed', 'tidy the desk']])
    assert.deepEqual(await results('scans'), [['pending', null]])
  })

  test('also drives the workers that the program makes', async () => {
    const mill = await opened(shop)
    const used: string[] = []
    mill.worker({
      poll: ['mail'],
      handle: { mail: ({ to }) => void used.push(to) },
      use: [(_, next) => next()],
      onEvent: ({ event }) => void used.push(event),
    })
    await mill.queues.mail.send({ to: 'ada' })
    assert.equal((await mill.drain()).completed, 1)
    assert.deepEqual(used, ['started', 'ada', 'completed'])
  })

  test('writes nothing, leaves no timer, and closes while a handler never ends', async () => {
    const warn = vi.spyOn(process, 'emitWarning')
    const write = vi.spyOn(process.stderr, 'write')
    const mill = await openForTest(shop, {
      handle: {
        ...handle,
        OCR: () => new Promise(() => undefined),
        THUMBNAIL: () => assert.fail('no'),
      },
    })
    await mill.jobs.enqueue('scans', 'THUMBNAIL', { file: 'p1' })
    await mill.advance('1h')
    await mill.jobs.enqueue('scans', 'OCR', { file: 'p1' })
    await mill.advance('1s', { whileRunning: true })
    await Promise.all([mill.close(), mill.close()])
    assert.deepEqual([warn.mock.calls, write.mock.calls], [[], []])
    assert.equal(mill.clock.pendingTimers, 0)
    vi.restoreAllMocks()
  })

  test('passes notices and log lines on, if asked', async () => {
    const notices: Notice[] = []
    const lines: string[] = []
    const line = (_: object, message: string): void => void lines.push(message)
    const log = { debug: line, info: line, warn: line, error: line }
    const mill = await opened(shop, { handle, log, onNotice: (one) => void notices.push(one) })
    await mill.jobs.enqueue('scans', 'OCR', { file: 'p1' })
    await mill.drain()
    assert.deepEqual(lines, ['job enqueued', 'job started', 'job completed'])
    await mill.close()
    assert.deepEqual(notices, [])
  })

  test('works while a test runner fakes timers and dates', async () => {
    const toFake = ['setTimeout', 'setImmediate', 'queueMicrotask', 'Date'] as const
    vi.useFakeTimers({ toFake: [...toFake] })
    onTestFinished(() => void vi.useRealTimers())
    const mill = await opened(shop, { handle })
    await mill.jobs.enqueue('scans', 'OCR', { file: 'p1' })
    assert.equal((await mill.drain()).completed, 1)
    await mill.advance('1h')
    await mill.close()
  })

  test('keeps its store in a folder, for transactions and restarts', () =>
    inTemporaryFolder('for-test', async (folder) => {
      const data = folder.file('data')
      const first = await openForTest(shop, { data, handle })
      const file = first.storeFile ?? assert.fail('there is no file')
      const db = new DatabaseSync(file)
      db.exec('BEGIN IMMEDIATE')
      first.jobs.enqueue('scans', 'OCR', { file: 'p1' }, { tx: db })
      db.exec('COMMIT')
      db.close()
      await first.queues.mail.send({ to: 'ada' })
      await first.close()
      const second = await opened(shop, { data, handle, now: new Date('2026-01-02') })
      assert.equal((await second.drain()).completed, 1)
      assert.equal((await second.sent('mail')).length, 1)
      await second.close()
    }))

  test('evaluates alarms if it is monitored, and posts to no webhook', async () => {
    const post = vi.spyOn(globalThis, 'fetch')
    const app = defineApp('watched', {
      queues: { mail: queue({ deadLetter: { after: 1 } }) },
      alarms: [alarm.dead('mail').above(0, { actions: [{ webhook: 'https://example.com/hook' }] })],
    })
    const mill = await opened(app, { monitoring: true, handle: { mail: () => deadLetter('no') } })
    await mill.queues.mail.send(1)
    await mill.advance('5m')
    const states = (await mill.alarms.list()).map(({ state }) => state)
    assert.ok(states.includes('ALARM'), states.join())
    assert.deepEqual(post.mock.calls, [])
    vi.restoreAllMocks()
  })
})

describe('what was done', () => {
  test('is counted by how attempts ended', async () => {
    const ends: unknown[] = [1, retryIn('1m'), release(), deadLetter('enough'), 1]
    const mill = await opened(shop, { handle: { ...handle, OCR: () => ends.shift() as string } })
    for (const file of ['p1', 'p2', 'p3', 'p4']) await mill.jobs.enqueue('scans', 'OCR', { file })
    const { errors, ...counts } = await mill.drain()
    const none = { cancelled: 0, lost: 0, refused: 0 }
    assert.deepEqual(counts, { completed: 2, retried: 1, released: 1, failed: 1, ...none })
    assert.deepEqual(errors, [])
  })

  test('has the errors that handlers threw, and does not throw them', async () => {
    const onFire = new Error('the scanner is on fire')
    const OCR = (): never => {
      throw onFire
    }
    const mill = await opened(shop, { handle: { ...handle, OCR } })
    const { id } = await mill.jobs.enqueue('scans', 'OCR', { file: 'p1' })
    const { retried, errors } = await mill.drain()
    assert.equal(retried, 1)
    const where = { queue: 'scans', type: 'OCR', id }
    assert.deepEqual(errors, [{ ...where, attempt: 1, end: 'retried', error: onFire }])
    const later = await mill.advance('1h')
    assert.deepEqual(
      later.errors.map(({ attempt, end }) => [attempt, end]),
      [
        [2, 'retried'],
        [3, 'failed'],
      ],
    )
    assert.equal((await mill.jobs('scans', { status: 'failed' })).length, 1)
  })

  test('throws the first error if it is told to, after everything was done', async () => {
    const mill = await opened(shop, { handle })
    mill.failNext('OCR', new Error('first'))
    mill.failNext('OCR', new Error('second'))
    for (const file of ['p1', 'p2', 'p3']) await mill.jobs.enqueue('scans', 'OCR', { file })
    await assert.rejects(mill.drain({ rethrow: true }), { message: 'first' })
    assert.equal((await mill.jobs('scans', { status: 'completed' })).length, 1)
    await mill.advance('1h', { rethrow: true })
  })

  test('shows a result or an emitted message that does not fit', async () => {
    const OCR = (_: unknown, context: { send(queue: 'mail', message: never): void }): void =>
      context.send('mail', { from: 'ada' } as never)
    const mill = await opened(shop, { handle: { ...handle, OCR } })
    await mill.jobs.enqueue('scans', 'OCR', { file: 'p1' })
    const { errors } = await mill.drain()
    assert.match(String(errors[0]?.error), /to/)
    assert.deepEqual(await mill.sent('mail'), [])
  })

  test('includes the failures that a test asks for', async () => {
    const mill = await opened(shop, { handle: { ...handle, mail: () => undefined } })
    mill.failNext('mail')
    await mill.queues.mail.send({ to: 'ada' })
    await mill.queues.mail.send({ to: 'bob' })
    const { completed, retried } = await mill.drain()
    assert.deepEqual([completed, retried], [1, 1])
  })
})

describe('the spies', () => {
  test('show every message in order, also of handlers, schedules and queues without handlers', async () => {
    const mill = await opened(shop, {
      handle: { ...handle, OCR: ({ file }, context) => context.send('mail', { to: file }) },
    })
    await mill.queues.mail.send({ to: 'ada', on: new Date('2026-02-01') }, { delay: '10m' })
    await mill.jobs.enqueue('scans', 'OCR', { file: 'bob' })
    await mill.advance('1h')
    const [first, second, ...others] = await mill.sent('mail')
    assert.deepEqual(first?.message, { to: 'ada', on: new Date('2026-02-01') })
    assert.equal((first?.readyAt ?? 0) - (first?.sentAt ?? 0), 600_000)
    assert.deepEqual([second?.message, others], [{ to: 'bob' }, []])
    assert.deepEqual(
      (await mill.sent('steps')).map(({ message, group }) => [message, group]),
      [[{ at: '2026-01-01T01:00:00.000Z' }, 'hourly']],
    )
  })

  test('filter', async () => {
    const mill = await opened(shop, { handle })
    for (const to of ['ada', 'bob']) await mill.queues.mail.send({ to })
    const toBob = await mill.sent('mail', { where: ({ message }) => message.to === 'bob' })
    assert.deepEqual(
      toBob.map(({ message }) => message.to),
      ['bob'],
    )
    await mill.jobs.enqueue('scans', 'THUMBNAIL', { file: 'p1' })
    for (const file of ['p1', 'p2']) await mill.jobs.enqueue('scans', 'OCR', { file })
    mill.failNext('OCR')
    await mill.drain()
    const names = async (...filter: Parameters<typeof mill.jobs<'scans'>>): Promise<unknown> =>
      (await mill.jobs(...filter)).map(({ type, payload }) => `${type} ${payload.file}`)
    assert.deepEqual(await names('scans'), ['THUMBNAIL p1', 'OCR p1', 'OCR p2'])
    assert.deepEqual(await names('scans', { type: 'OCR' }), ['OCR p1', 'OCR p2'])
    assert.deepEqual(await names('scans', { status: 'pending' }), ['OCR p1'])
    const where = ({ payload }: { payload: { file: string } }): boolean => payload.file === 'p2'
    assert.deepEqual(await names('scans', { where }), ['OCR p2'])
  })

  test('show more jobs than a page has', async () => {
    const mill = await opened(shop)
    const entries = Array.from({ length: 1_001 }, (_, index) => ({
      type: 'OCR' as const,
      payload: { file: `p${index}` },
    }))
    await mill.jobs.enqueueMany('scans', entries.slice(0, 501))
    await mill.jobs.enqueueMany('scans', entries.slice(501))
    const files = (await mill.jobs('scans')).map(({ payload }) => payload.file)
    assert.deepEqual(
      files,
      entries.map(({ payload }) => payload.file),
    )
  })
})

describe('wrong options', () => {
  const untyped = (options: object): never => options as never

  test.each([
    ['an unknown one', { handler: {} }, /handler: got an unknown option.*did you mean 'handle'/],
    ['a time that is not a Date', { now: 'today' }, /now: got .*expected a Date/],
    ['an invalid Date', { now: new Date('today') }, /now: got .*expected a Date/],
    ['a handler of nothing', { handle: { OCRR: read } }, /handle\.OCRR: .*did you mean 'OCR'/],
    ['a handler that is missing', { handle: { OCR: read } }, /handle\.THUMBNAIL: got undefined/],
    ['a concurrency of none', { handle, concurrency: 0 }, /concurrency/],
  ])('are refused: %s', async (_, options, saying) => {
    await assert.rejects(openForTest(shop, untyped(options)), saying)
  })

  test('are refused by the calls too', async () => {
    const mill = await opened(shop)
    await assert.rejects(mill.drain(untyped({ rethow: true })), /did you mean 'rethrow'/)
    await assert.rejects(mill.advance('1h', untyped({ wrk: false })), /did you mean 'work'/)
    await assert.rejects(mill.advance(untyped({ hours: 1 })), /duration: got/)
    await assert.rejects(mill.advanceTo(new Date('2025-01-01')), /not before the present time/)
    await assert.rejects(mill.advanceTo(untyped({})), /expected a Date/)
    await assert.rejects(mill.sent(untyped(['mial'])), /the key of a queue of plain messages/)
    await assert.rejects(mill.sent('mails' as never), /did you mean 'mail'/)
    await assert.rejects(mill.jobs('mail' as never), /expected the key of a jobs queue/)
    await assert.rejects(mill.jobs('scans', untyped({ state: 'failed' })), /state/)
    await assert.rejects(mill.jobs('scans', untyped({ status: 'over' })), /status/)
  })
})
