import assert from 'node:assert/strict'
import { describe, onTestFinished, test } from 'vitest'
import { z } from 'zod'
import { temporaryFolder } from '../../test/support/temporary-folder.ts'
import {
  collectingLogger,
  gate,
  type LogLine,
  printed,
  withTime,
} from '../../test/support/worker-scene.ts'
import type { Backend } from '../backends/backend.ts'
import { openSqlite } from '../backends/sqlite/index.ts'
import type { Store } from '../backends/store.ts'
import { defineApp } from '../contracts/define-app.ts'
import { jobs } from '../contracts/jobs-declaration.ts'
import { type VirtualClock, virtualPorts } from '../testing/virtual-clock.ts'
import { type Mill, type OpenOptions, open } from './open.ts'

const app = defineApp('scanner', {
  queues: { scans: jobs({ types: { OCR: z.object({}) }, attempts: 2, visibilityTimeout: '30s' }) },
})

const minute = 60_000
const error = 'The lease ended before the attempt was settled.'

describe('an attempt whose process has died', () => {
  test('is printed by the process that notices it, if there is no log', async () => {
    const { mill, clock, claimElsewhere, output } = await scanner({})
    const id = await claimElsewhere()
    await clock.advance(minute)
    const job = `millrace: job OCR ${id} of scans`
    const lost = `${job}: attempt 1 of 2 was lost, another worker may run it again\n  ${error}\n`
    assert.equal(output(), lost)
    await claimElsewhere()
    await clock.advance(minute)
    const failed = `${job}: attempt 2 of 2 failed, and there will be no retry\n  ${error}\n`
    assert.equal(output(), lost + failed)
    assert.equal((await mill.jobs.get(id))?.status, 'failed')
  })

  test('is one line of the log', async () => {
    const lines: LogLine[] = []
    const { clock, claimElsewhere, output } = await scanner({ log: collectingLogger(lines) })
    const id = await claimElsewhere()
    await clock.advance(minute)
    const [line] = lines.filter(({ message }) => message === 'job lost')
    assert.deepEqual(line, {
      level: 'warn',
      message: 'job lost',
      fields: {
        queue: 'scans',
        type: 'OCR',
        id,
        attempt: 1,
        max_attempts: 2,
        status: 'unknown',
        outcome: 'lost',
        duration_ms: 30_000,
        error,
      },
    })
    assert.equal(output(), '')
  })

  test('is not printed if the log is false', async () => {
    const { mill, clock, claimElsewhere, output } = await scanner({ log: false })
    const id = await claimElsewhere()
    await clock.advance(minute)
    assert.equal((await mill.jobs.attempts(id))[0]?.outcome, 'lapsed')
    assert.equal(output(), '')
  })
})

describe('an attempt that still runs in this process', () => {
  test('is not printed when its lease ends, but when its handler does', async () => {
    const { mill, clock, enqueue, output } = await scanner({}, (backend) => ({
      ...backend,
      extend: () => Promise.reject(new Error('no connection')),
      leaseStates: () => Promise.reject(new Error('no connection')),
    }))
    const handler = gate()
    mill.worker({ poll: ['scans'], concurrency: 1, handle: { OCR: () => handler.opened } }).start()
    const id = await enqueue()
    await clock.advance(minute)
    assert.equal((await mill.jobs.attempts(id))[0]?.outcome, 'lapsed')
    assert.equal(output(), '')
    handler.fail(new Error('too late'))
    await clock.advance(minute)
    assert.match(output(), new RegExp(`^millrace: job OCR ${id} of scans: attempt 1 of 2 `))
    assert.equal(output().match(/attempt 1 of 2/g)?.length, 1)
  })
})

interface Scanner {
  readonly mill: Mill<typeof app>
  readonly clock: VirtualClock
  enqueue(): Promise<string>
  /** Enqueues a job unless there is one, and claims it as a process does that dies then. */
  claimElsewhere(): Promise<string>
  /** What was printed. */
  output(): string
}

async function scanner(
  options: Pick<OpenOptions, 'log'>,
  wrap: (backend: Backend) => Backend = (backend) => backend,
): Promise<Scanner> {
  const output = printed()
  const folder = await temporaryFolder('lost-attempts')
  const ports = virtualPorts()
  const { clock } = ports
  const file = folder.file('millrace.db')
  const store: Store = {
    place: 'a test',
    open: async (opening) => wrap(await openSqlite({ file, ...opening })),
  }
  const mill = await open(app, { store, ports, ...options })
  const other = await openSqlite({ file, ports })
  onTestFinished(async () => {
    await withTime(clock, mill.close())
    await other.close()
    await folder.remove()
  })
  const enqueue = async (): Promise<string> => (await mill.jobs.enqueue('scans', 'OCR', {})).id
  return {
    mill,
    clock,
    enqueue,
    async claimElsewhere() {
      const { ready } = await mill.queues.scans.statistics()
      if (ready === 0) await enqueue()
      const [delivery] = await other.receive({ queue: mill.queues.scans.name, max: 1 })
      return delivery?.job?.id ?? assert.fail('there is nothing to claim')
    },
    output,
  }
}
