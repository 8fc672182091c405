import assert from 'node:assert/strict'
import { describe, test } from 'vitest'
import { z } from 'zod'
import {
  aborted,
  openScene,
  printed,
  type SceneOptions,
  started,
  type WorkerScene,
} from '../../test/support/worker-scene.ts'
import { defineApp } from '../contracts/define-app.ts'
import { deadLetter, retryIn, UnrecoverableError } from '../contracts/handler-outcome.ts'
import { jobs } from '../contracts/jobs-declaration.ts'
import { queue } from '../contracts/queue-declaration.ts'
import { MillraceError } from '../core/millrace-error.ts'
import type { HandlerContext } from './handler-context.ts'
import type { Middleware } from './middleware.ts'
import type { WorkerEvent } from './worker-event.ts'

const Card = z.object({ card: z.string() })

const app = defineApp('bank', {
  queues: {
    basic: jobs({
      types: { CHARGE: { schema: Card, secret: ['card'] } },
      attempts: 2,
      timeout: '10s',
      backoff: { from: '1s', jitter: 0 },
    }),
    quiet: jobs({ types: { QUIET: Card }, keepLogs: false }),
    mail: queue({ schema: Card, secret: ['card'], deadLetter: { after: 2 } }),
  },
})

type Queues = (typeof app)['queues']
type Handle = (payload: { card: string }, context: HandlerContext<Queues>) => unknown

interface Bank extends WorkerScene<typeof app> {
  readonly events: readonly WorkerEvent[]
  /** Enqueues a job and runs it until it has ended. */
  run(): Promise<string>
}

async function bank(
  handle: Handle,
  { use = [], ...options }: SceneOptions & { use?: readonly Middleware[] } = {},
): Promise<Bank> {
  const scene = await openScene(app, options)
  const { mill, clock } = scene
  const events: WorkerEvent[] = []
  started(
    mill.worker({
      poll: ['basic', 'quiet', 'mail'],
      use,
      handle: { CHARGE: handle, QUIET: handle, mail: handle },
      onEvent: (event) => void events.push(event),
    }),
  )
  return {
    ...scene,
    events,
    async run() {
      const { id } = await mill.jobs.enqueue('basic', 'CHARGE', { card: '4111-1111' })
      await clock.advance(60_000)
      return id
    },
  }
}

const cannot = (): never => {
  throw new TypeError('cannot charge 4111-1111', { cause: new Error('no bank for 4111-1111') })
}

describe('a failed attempt', () => {
  test('is kept with its stack and causes, without what the contract hides', async () => {
    const { mill, run } = await bank(cannot)
    const id = await run()
    const attempts = await mill.jobs.attempts(id)
    assert.deepEqual(
      attempts.map(({ outcome, error }) => [outcome, error]),
      [
        ['retried', 'TypeError: cannot charge [hidden]'],
        ['failed', 'TypeError: cannot charge [hidden]'],
      ],
    )
    for (const { failure } of attempts) {
      assert.deepEqual([failure?.name, failure?.message], ['TypeError', 'cannot charge [hidden]'])
      assert.match(failure?.stack ?? '', /^at .*cannot .*worker-failures\.test\.ts:\d+:\d+\)$/)
      assert.deepEqual(
        failure?.causes.map(({ name, message }) => [name, message]),
        [['Error', 'no bank for [hidden]']],
      )
    }
    assert.doesNotMatch(JSON.stringify(attempts), /4111/)
  })

  const passing: Middleware = (_, next) => next()
  const waiting: Middleware = async (_, next) => await next()

  test.each([
    ['without middleware', []],
    ['with middleware', [passing]],
    ['with layers of middleware', [waiting, passing, waiting]],
  ])('has only frames of the program in its stack, %s', async (_, use) => {
    const { events, run } = await bank(cannot, { use })
    await run()
    const stack = events.at(-1)?.failure?.stack ?? ''
    assert.match(stack, /^at cannot \(.*worker-failures\.test\.ts:\d+:\d+\)$/)
  })

  test('has only frames of the program in its stack if it fails later', async () => {
    const later = async (): Promise<void> => {
      await Promise.resolve()
      cannot()
    }
    const { events, run } = await bank(later, { use: [waiting, passing, waiting] })
    await run()
    const frames = (events.at(-1)?.failure?.stack ?? '').split('\n')
    assert.ok(frames.length > 0 && frames.every((frame) => /worker-failures\.test\.ts/.test(frame)))
  })

  test('has only frames of the program in its stack if a middleware throws', async () => {
    const refusing: Middleware = () => cannot()
    const { events, run } = await bank(() => undefined, { use: [passing, refusing] })
    await run()
    const frames = (events.at(-1)?.failure?.stack ?? '').split('\n')
    assert.deepEqual(
      frames.map((frame) => /^at (\w+) \(.*worker-failures\.test\.ts:/.exec(frame)?.[1]),
      ['cannot', 'refusing'],
    )
  })

  test('is one line of the log, with the error in its fields', async () => {
    const { lines, run } = await bank(cannot)
    await run()
    const failed = lines.filter(({ level }) => level === 'warn' || level === 'error')
    assert.deepEqual(
      failed.map(({ level, message }) => [level, message]),
      [
        ['warn', 'job retried'],
        ['error', 'job failed'],
      ],
    )
    for (const { fields } of failed) {
      assert.equal(fields['error_name'], 'TypeError')
      assert.match(String(fields['error_stack']), /^TypeError: cannot charge \[hidden\]\n {4}at /)
      assert.match(String(fields['error_stack']), /\ncaused by Error: no bank for \[hidden\]\n/)
    }
    assert.doesNotMatch(JSON.stringify(lines), /4111/)
  })

  test('is printed if there is no log', async () => {
    const output = printed()
    const { run } = await bank(cannot, { log: 'unset' })
    const id = await run()
    const first = `millrace: job CHARGE ${id} of basic: attempt 1 of 2 failed, retry in 1s\n`
    assert.ok(output().startsWith(first), output())
    assert.match(output(), /\n {2}TypeError: cannot charge \[hidden\]\n {6}at /)
    assert.match(output(), /\n {2}caused by Error: no bank for \[hidden\]\n/)
    assert.match(output(), /attempt 2 of 2 failed, and there will be no retry\n/)
    assert.doesNotMatch(output(), /4111/)
  })

  test.each([
    ['with a log', 'read'],
    ['if the log is false', false],
  ] as const)('is not printed %s', async (_, log) => {
    const output = printed()
    const { mill, run } = await bank(cannot, { log })
    const id = await run()
    assert.equal((await mill.jobs.get(id))?.status, 'failed')
    assert.equal(output(), '')
  })

  test('is not printed if the handler asked for the retry', async () => {
    const output = printed()
    const { run } = await bank((_, { attempt }) => (attempt === 1 ? retryIn('1s') : undefined), {
      log: 'unset',
    })
    await run()
    assert.equal(output(), '')
  })

  test('has the error of the handler for listeners, of jobs and of messages', async () => {
    const thrown: unknown[] = []
    const { mill, clock, events, run } = await bank(() => {
      const error = new RangeError('too much')
      thrown.push(error)
      throw error
    })
    await run()
    await mill.queues.mail.send({ card: '4111-1111' })
    await clock.advance(60_000)
    const ends = events.filter(({ event }) => event !== 'started')
    assert.deepEqual(
      ends.map(({ event, type, error }) => [event, type, error]),
      [
        ['retried', 'CHARGE', 'RangeError: too much'],
        ['failed', 'CHARGE', 'RangeError: too much'],
        ['retried', null, 'RangeError: too much'],
        ['failed', null, 'RangeError: too much'],
      ],
    )
    assert.deepEqual(
      ends.map(({ cause }) => thrown.indexOf(cause)),
      [0, 1, 2, 3],
    )
    assert.ok(ends.every(({ failure }) => failure?.name === 'RangeError'))
  })

  test.each<readonly [string, Handle, unknown, string | undefined]>([
    ['a result that is not JSON', () => 10n, MillraceError, 'invalid_message'],
    [
      'an unrecoverable error',
      () => Promise.reject(new UnrecoverableError('no')),
      UnrecoverableError,
      undefined,
    ],
  ])('has a cause after %s', async (_, handle, type, code) => {
    const { events, run } = await bank(handle)
    await run()
    const { cause } = events.at(-1) ?? {}
    assert.ok(typeof type === 'function' && cause instanceof type, String(cause))
    if (code !== undefined) assert.equal((cause as MillraceError).code, code)
  })

  test('has no cause if the handler chose its end', async () => {
    const { events, run } = await bank(() => deadLetter('no account'))
    await run()
    const { event, error, failure, cause } = events.at(-1) ?? {}
    assert.deepEqual([event, error, failure, cause], ['failed', 'no account', null, undefined])
  })

  test('has the reason of the signal as its cause after a timeout', async () => {
    const { mill, events, run } = await bank(() => new Promise(() => undefined))
    const id = await run()
    const job = await mill.jobs.get(id)
    assert.deepEqual([job?.status, job?.error], ['failed', 'The handler exceeded its timeout.'])
    const { cause } = events.find(({ event }) => event === 'failed') ?? {}
    assert.ok(cause instanceof Error && 'kind' in cause && cause.kind === 'timeout')
  })

  test('is reported with its error even if the lease was lost', async () => {
    const { mill, clock, events } = await bank(async (_, { signal }) => {
      await aborted(signal)
      throw new Error('stopped half-way')
    })
    await mill.jobs.enqueue('basic', 'CHARGE', { card: '4111-1111' })
    await clock.advance(0)
    await mill.queues.basic.purge()
    await clock.advance(60_000)
    const lost = events.find(({ event }) => event === 'lost' || event === 'cancelled')
    assert.ok(lost !== undefined)
    if (lost.event === 'lost') assert.equal(lost.failure?.message, 'stopped half-way')
  })
})

describe('middleware around a handler that throws', () => {
  test('catches the error of the handler, and what it throws is recorded', async () => {
    const caught: unknown[] = []
    const error = new Error('no card 4111-1111')
    const tracker: Middleware = async (_, next) => {
      try {
        return await next()
      } catch (thrown) {
        caught.push(thrown)
        throw new RangeError('wrapped', { cause: thrown })
      }
    }
    const { mill, events, run } = await bank(() => Promise.reject(error), { use: [tracker] })
    const id = await run()
    assert.deepEqual(caught, [error, error])
    assert.equal(caught[0], error)
    const [attempt] = await mill.jobs.attempts(id)
    assert.deepEqual(
      [attempt?.error, attempt?.failure?.causes[0]?.message],
      ['RangeError: wrapped', 'no card [hidden]'],
    )
    const { cause } = events.find(({ event }) => event === 'retried') ?? {}
    assert.ok(cause instanceof RangeError && cause.cause === error)
  })
})

describe('the lines that a handler logs', () => {
  test('are kept without passwords and tokens, in the message and in the fields', async () => {
    const { mill, run } = await bank((_, { log }) => {
      log.info({ password: 'hunter2xyz', token: 'abc' }, 'password=hunter2xyz')
    })
    const [line] = await mill.jobs.logs(await run())
    assert.deepEqual(
      [line?.message, line?.fields],
      ['password=[hidden]', { password: '[hidden]', token: '[hidden]' }],
    )
  })

  test('are kept with its attempts, in order and without what the contract hides', async () => {
    const { mill, lines, run } = await bank((_, { attempt, log }) => {
      log.info({ attempt, card: '4111-1111' }, 'charging 4111-1111')
      if (attempt === 1) throw new Error('busy')
      log.warn({ tries: 2 }, 'charged')
    })
    const id = await run()
    const kept = await mill.jobs.logs(id)
    assert.deepEqual(
      kept.map(({ attempt, level, message, fields }) => [attempt, level, message, fields]),
      [
        [1, 'info', 'charging [hidden]', { attempt: 1, card: '[hidden]' }],
        [2, 'info', 'charging [hidden]', { attempt: 2, card: '[hidden]' }],
        [2, 'warn', 'charged', { tries: 2 }],
      ],
    )
    assert.ok(kept.every(({ at }) => at > 0))
    assert.doesNotMatch(JSON.stringify(lines), /4111/)
  })

  test('are kept without a log, and when the handler fails for good', async () => {
    const { mill, run } = await bank(
      (_, { log }) => {
        log.info({}, 'before the end')
        return deadLetter('no account')
      },
      { log: false },
    )
    const id = await run()
    assert.deepEqual(
      (await mill.jobs.logs(id)).map(({ message }) => message),
      ['before the end'],
    )
  })

  test('can be read while the handler runs, once it has reported progress', async () => {
    const { mill, settle } = await bank(async (_, { log, progress, signal }) => {
      log.info({}, 'first')
      await progress(0.5)
      log.info({}, 'second')
      await aborted(signal)
    })
    const { id } = await mill.jobs.enqueue('basic', 'CHARGE', { card: '4111-1111' })
    await settle()
    const messages = async () => (await mill.jobs.logs(id)).map(({ message }) => message)
    assert.deepEqual(await messages(), ['first'])
  })

  test('are kept if what the handler emitted is refused', async () => {
    const { mill, run } = await bank((_, context) => {
      context.log.info({}, 'sending')
      context.within(() => {
        throw new Error('constraint failed')
      })
    })
    const id = await run()
    assert.deepEqual(
      (await mill.jobs.logs(id)).map(({ attempt, message }) => [attempt, message]),
      [
        [1, 'sending'],
        [2, 'sending'],
      ],
    )
    assert.equal((await mill.jobs.get(id))?.error, 'constraint failed')
  })

  test('are not kept in a queue that is declared with keepLogs: false', async () => {
    const { mill, clock, lines } = await bank((_, { log }) => log.info({}, 'charging'))
    const { id } = await mill.jobs.enqueue('quiet', 'QUIET', { card: '4111-1111' })
    await clock.advance(1_000)
    assert.equal((await mill.jobs.get(id))?.status, 'completed')
    assert.deepEqual(await mill.jobs.logs(id), [])
    assert.ok(lines.some(({ message }) => message === 'charging'))
  })
})
