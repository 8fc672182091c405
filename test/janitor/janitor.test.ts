import assert from 'node:assert/strict'
import { describe, onTestFinished, test } from 'vitest'
import { z } from 'zod'
import { type Mill, open } from '../../src/app/open.ts'
import { collector, triggers } from '../../src/contracts/collector-declaration.ts'
import { defineApp } from '../../src/contracts/define-app.ts'
import { flow } from '../../src/contracts/flow-declaration.ts'
import { jobs } from '../../src/contracts/jobs-declaration.ts'
import { queue } from '../../src/contracts/queue-declaration.ts'
import type { VirtualClock } from '../../src/testing/virtual-clock.ts'
import { type LogLine, openScene } from '../support/worker-scene.ts'

const second = 1_000
const minute = 60 * second
const hour = 60 * minute

/** Lets time pass for the store alone; the app's own timers would take thousands of turns. */
async function pass({ clock }: { readonly clock: VirtualClock }, ms: number): Promise<void> {
  clock.sleep(ms)
  await clock.advance(0)
}

function findings({ lines }: { readonly lines: readonly LogLine[] }): readonly unknown[] {
  return lines
    .filter(({ message }) => message === 'janitor finding')
    .map(({ level, fields }) => [level, fields['what'], fields['place'], fields['id']])
}

async function latest(mill: Pick<Mill, 'metrics'>, name: string): Promise<number | undefined> {
  return (await mill.metrics.values(name, { last: '1d' })).at(-1)?.max
}

const academy = defineApp('academy', {
  queues: { scans: jobs({ types: { OCR: z.unknown() }, visibilityTimeout: '12h' }) },
})

describe('a job that nobody takes', () => {
  test('is reported once it has waited for an hour, and counted while it waits', async () => {
    const scene = await openScene(academy)
    const { mill, clock } = scene
    const { id } = await mill.jobs.enqueue('scans', 'OCR', 1)
    await pass(scene, hour - minute)
    await clock.advance(50 * second)
    assert.deepEqual(findings(scene), [])
    await clock.advance(2 * minute)
    const expected = [['warn', 'stuck_pending', mill.queues.scans.name, id]]
    assert.deepEqual(findings(scene), expected)
    await clock.advance(3 * minute)
    assert.deepEqual(findings(scene), expected)
    assert.equal(await latest(mill, 'janitor_stuck_pending'), 1)
    await mill.jobs.cancel(id)
    await clock.advance(2 * minute)
    assert.equal(await latest(mill, 'janitor_stuck_pending'), 0)
  })

  test('is reported by one of several processes', async () => {
    const scene = await openScene(academy)
    const { mill, backend, ports, clock } = scene
    const notices: string[] = []
    const others: Mill<typeof academy>[] = []
    onTestFinished(async () => {
      for (const other of others) await other.close()
    })
    for (let index = 0; index < 3; index += 1) {
      const onNotice = ({ kind }: { readonly kind: string }): void => {
        if (kind === 'janitor') notices.push(kind)
      }
      others.push(await open(academy, { backend, ports, onNotice }))
    }
    await mill.jobs.enqueue('scans', 'OCR', 1)
    await pass(scene, hour)
    await clock.advance(5 * minute)
    assert.equal(findings(scene).length + notices.length, 1)
  })

  test('counts after the time that the app states', async () => {
    const hasty = defineApp('academy', { ...academy, janitor: { pendingFor: '5m' } })
    const scene = await openScene(hasty)
    await scene.mill.jobs.enqueue('scans', 'OCR', 1)
    await scene.clock.advance(5 * minute)
    assert.deepEqual(findings(scene), [])
    await scene.clock.advance(2 * minute)
    assert.equal(findings(scene).length, 1)
  })

  test('is no business of the janitor while a kill switch holds it', async () => {
    const scene = await openScene(academy)
    await scene.mill.jobs.enqueue('scans', 'OCR', 1)
    await scene.mill.switches.hold({ queue: 'scans' }, { by: 'anna' })
    await pass(scene, 2 * hour)
    await scene.clock.advance(3 * minute)
    assert.deepEqual(findings(scene), [])
  })
})

describe('a job that never ends', () => {
  test('is reported after six hours in the hands of one worker', async () => {
    const scene = await openScene(academy)
    const { mill, backend, clock } = scene
    const { id } = await mill.jobs.enqueue('scans', 'OCR', 1)
    await backend.receive({ queue: mill.queues.scans.name, max: 1 })
    await pass(scene, 6 * hour - minute)
    await clock.advance(50 * second)
    assert.deepEqual(findings(scene), [])
    await clock.advance(2 * minute)
    assert.deepEqual(findings(scene), [['warn', 'stuck_processing', mill.queues.scans.name, id]])
    assert.equal(await latest(mill, 'janitor_stuck_processing'), 1)
    assert.match(
      await mill.metrics.prometheus(),
      /^millrace_value\{name="academy-dev-janitor_stuck_processing"\} 1$/m,
    )
  })
})

describe('a flow over its deadline', () => {
  test('is reported once', async () => {
    const ingestion = defineApp('ingestion', {
      queues: { units: queue() },
      flows: { extraction: flow({ units: 'units', deadline: '10m' }) },
    })
    const scene = await openScene(ingestion)
    const { mill, clock } = scene
    await mill.flows.extraction.open('document-7', { units: [{ id: 'u-1', message: 1 }] })
    await clock.advance(9 * minute)
    assert.deepEqual(findings(scene), [])
    await clock.advance(5 * minute)
    const expected = ['warn', 'overdue_flow', 'ingestion-dev-extraction', 'document-7']
    assert.deepEqual(findings(scene), [expected])
    assert.equal(await latest(mill, 'janitor_overdue_flows'), 1)
  })
})

describe('a key of a collector', () => {
  const Item = z.object({ conversation: z.string(), id: z.string() })
  const replies = defineApp('replies', {
    queues: {
      waiting: triggers({ deadLetter: { after: 1 }, visibilityTimeout: '10s' }),
      merged: queue(),
    },
    collectors: {
      conversations: collector({
        schema: Item,
        key: ({ conversation }) => conversation,
        id: ({ id }) => id,
        window: '10s',
        triggers: 'waiting',
        targets: ['merged'],
        merge: (items) => items,
      }),
    },
  })

  test('gets a new trigger when it has lost its own, which is reported', async () => {
    const scene = await openScene(replies)
    const { mill, backend, clock } = scene
    await mill.collectors.conversations.add({ conversation: 'c-1', id: 'm-1' })
    await backend.purgeQueue({ queue: mill.queues.waiting.name })
    await clock.advance(3 * minute)
    const expected = ['warn', 'repaired_collector_key', 'replies-dev-conversations', 'c-1']
    assert.deepEqual(findings(scene), [expected])
    assert.equal((await mill.queues.waiting.statistics()).ready, 1)
  })

  test('is reported once when its trigger lies among the dead letters', async () => {
    const scene = await openScene(replies)
    const { mill, backend, clock } = scene
    await mill.collectors.conversations.add({ conversation: 'c-1', id: 'm-1' })
    await clock.advance(10 * second)
    const waiting = mill.queues.waiting.name
    await backend.receive({ queue: waiting, max: 1 })
    await clock.advance(11 * second)
    await backend.receive({ queue: waiting, max: 1 })
    assert.equal((await mill.queues.waiting.deadLetters?.statistics())?.ready, 1)
    await clock.advance(5 * minute)
    const expected = ['warn', 'stuck_collector_key', 'replies-dev-conversations', 'c-1']
    assert.deepEqual(findings(scene), [expected])
    assert.equal(await latest(mill, 'janitor_stuck_collector_keys'), 1)
  })
})

describe('messages that expire', () => {
  test('are counted', async () => {
    const short = defineApp('short', { queues: { brief: queue({ retention: '1m' }) } })
    const { mill, clock } = await openScene(short)
    await mill.queues.brief.sendMany([1, 2, 3])
    await clock.advance(4 * minute)
    const minutes = await mill.metrics.values('janitor_expired', { last: '1h' })
    assert.equal(
      minutes.reduce((sum, each) => sum + each.sum, 0),
      3,
    )
  })
})

describe('a janitor that cannot look', () => {
  test('says so, and looks again later', async () => {
    let isBroken = true
    const scene = await openScene(academy, {
      wrap: (backend) => {
        assert.ok(backend.jobs !== null)
        const { jobs: store } = backend
        const stuck: typeof store.stuck = async (request) => {
          if (isBroken) throw new Error('the disk is gone')
          return store.stuck(request)
        }
        return { ...backend, jobs: { ...store, stuck } }
      },
    })
    await scene.clock.advance(minute)
    const failed = scene.lines.find(({ message }) => message === 'maintenance service failed')
    assert.equal(failed?.fields['service'], 'janitor')
    isBroken = false
    await scene.mill.jobs.enqueue('scans', 'OCR', 1)
    await pass(scene, hour)
    await scene.clock.advance(4 * minute)
    assert.equal(findings(scene).length, 1)
  })

  test('takes a queue that was deleted for an empty one', async () => {
    const scene = await openScene(academy)
    await scene.backend.deleteQueue({ queue: scene.mill.queues.scans.name })
    await scene.clock.advance(2 * minute)
    assert.ok(!scene.messages().includes('maintenance service failed'))
  })
})
