/** A misspelt option is refused by every call, also from plain JavaScript, and the error names the right one. */
import assert from 'node:assert/strict'
import { afterAll, beforeAll, describe, test } from 'vitest'
import { z } from 'zod'
import {
  batch,
  chain,
  collector,
  defineApp,
  fifo,
  flow,
  jobs,
  type Mill,
  MillraceError,
  open,
  queue,
  schedule,
  triggers,
} from '../../src/index.ts'
import { createJobsApi, type RunningServer, serve, startDev } from '../../src/server.ts'
import { openForTest } from '../../src/testing/index.ts'
import { virtualPorts } from '../../src/testing/virtual-clock.ts'
import { type TemporaryFolder, temporaryFolder } from '../support/temporary-folder.ts'

const shop = defineApp('shop', {
  queues: {
    orders: queue({ deadLetter: {} }),
    ordered: fifo(),
    work: jobs({ types: { PRINT: z.unknown() } }),
    windows: triggers(),
  },
  flows: { parcel: flow({ units: 'orders' }) },
  chains: { print: chain({ steps: [{ name: 'print', queue: 'work', type: 'PRINT' }] }) },
  collectors: {
    lines: collector({
      schema: z.string(),
      key: (line) => line,
      id: (line) => line,
      window: '1s',
      triggers: 'windows',
      targets: ['orders'],
      merge: (lines) => lines,
    }),
  },
  schedules: { hourly: schedule({ every: '1h', send: { queue: 'orders' } }) },
})

let folder: TemporaryFolder
let mill: Mill<typeof shop>
beforeAll(async () => {
  folder = await temporaryFolder('unknown-options')
  mill = await open(shop, { data: folder.path, ports: virtualPorts() })
})
afterAll(async () => {
  await mill.close()
  await folder.remove()
})

/** Options as plain JavaScript passes them. */
// biome-ignore lint/suspicious/noExplicitAny: it stands for code without types.
const untyped = (options: object): any => options

const served = (options: object): Promise<RunningServer> =>
  serve(untyped({ port: 0, data: folder.file('served'), ...options }))

/** The call, the field that is refused, and the option that was meant. */
type Case = [name: string, call: () => unknown, field: string, meant: string]

const cases: readonly Case[] = [
  ['open', () => open(shop, untyped({ dta: 'x' })), 'dta', 'data'],
  ['openForTest', () => openForTest(shop, untyped({ handl: {} })), 'handl', 'handle'],
  ['serve', () => serve(untyped({ prt: 0 })), 'prt', 'port'],
  ['progress', () => mill.reports.progress('j', untyped({ progres: 1 })), 'progres', 'progress'],
  ['complete', () => mill.reports.complete('j', untyped({ reslt: 1 })), 'reslt', 'result'],
  ['fail', () => mill.reports.fail('j', untyped({ eror: {} })), 'eror', 'error'],
  ['the lease', () => mill.reports.extend('j', untyped({ fr: '1s' })), 'fr', 'for'],
  [
    'serve connections',
    () => serve(untyped({ port: 0, data: folder.file('s'), connections: { drai: '1s' } })),
    'connections.drai',
    'drain',
  ],
  ['serve auth', () => served({ auth: { apikeys: [] } }), 'auth.apikeys', 'apiKeys'],
  [
    'serve auth, JWT',
    () => served({ auth: { jwt: { secret: 's'.repeat(32), audiance: 'shop' } } }),
    'auth.jwt.audiance',
    'audience',
  ],
  [
    'serve auth, API key',
    () =>
      served({ auth: { apiKeys: [{ name: 'a', role: 'admin', key: 'k'.repeat(16), ownr: 'b' }] } }),
    'auth.apiKeys[0].ownr',
    'owner',
  ],
  ['startDev', () => startDev(untyped({ template: [] })), 'template', 'templates'],
  [
    'createJobsApi',
    () => createJobsApi(mill, untyped({ auth: 'none', basPath: '/' })),
    'basPath',
    'basePath',
  ],
  [
    'backup',
    () => mill.backup('copy.db', untyped({ onProgres: () => 0 })),
    'onProgres',
    'onProgress',
  ],
  ['send', () => mill.queues.orders.send(1, untyped({ dely: '1s' })), 'dely', 'delay'],
  [
    'prepare',
    () => mill.queues.orders.prepare(1, untyped({ dely: '1s' })).toEmitted(),
    'dely',
    'delay',
  ],
  [
    'sendMany',
    () => mill.queues.orders.sendMany([1], untyped({ dely: '1s' })),
    'messages[0].options.dely',
    'delay',
  ],
  [
    'send, FIFO',
    () => mill.queues.ordered.send(1, untyped({ grup: 'g', deduplicationId: 'd' })),
    'grup',
    'group',
  ],
  ['receive', () => mill.queues.orders.receive(untyped({ mx: 1 })), 'mx', 'max'],
  ['peek', () => mill.queues.orders.peek(untyped({ limi: 1 })), 'limi', 'limit'],
  [
    'redrive',
    () => mill.queues.orders.deadLetters.redrive(untyped({ perSecnd: 1 })),
    'perSecnd',
    'perSecond',
  ],
  [
    'enqueue',
    () => mill.jobs.enqueue('work', 'PRINT', 1, untyped({ idempotencykey: 'k' })),
    'idempotencykey',
    'idempotencyKey',
  ],
  ['reschedule', () => mill.jobs.reschedule('id', untyped({ runat: 1 })), 'runat', 'runAt'],
  [
    'enqueueMany',
    () => mill.jobs.enqueueMany('work', [untyped({ type: 'PRINT', payload: 1, ownr: 'a' })]),
    'jobs[0].ownr',
    'owner',
  ],
  [
    'enqueueMany options',
    () => mill.jobs.enqueueMany('work', [], untyped({ txn: {} })),
    'txn',
    'tx',
  ],
  ['jobs.list', () => mill.jobs.list('work', untyped({ stats: 'failed' })), 'stats', 'status'],
  ['waitFor', () => mill.jobs.waitFor('1', untyped({ timeot: '1s' })), 'timeot', 'timeout'],
  [
    'batch',
    () => batch(untyped({ size: 10, windw: '1s' }), () => undefined),
    'batch.windw',
    'window',
  ],
  [
    'worker',
    () => mill.worker(untyped({ poll: ['work'], handle: { PRINT: () => 1 }, concurency: 1 })),
    'concurency',
    'concurrency',
  ],
  [
    'flow.open',
    () => mill.flows.parcel.open('p', untyped({ units: [], sealed: false })),
    'sealed',
    'seal',
  ],
  ['flow.add', () => mill.flows.parcel.add('p', [], untyped({ sel: true })), 'sel', 'seal'],
  ['flow.units', () => mill.flows.parcel.units('p', untyped({ stat: 'done' })), 'stat', 'state'],
  ['flow.list', () => mill.flows.parcel.list(untyped({ overdu: true })), 'overdu', 'overdue'],
  [
    'chain.start',
    () => mill.chains.print.start('c', 1, untyped({ optons: {} })),
    'optons',
    'options',
  ],
  [
    'chain.start options',
    () => mill.chains.print.start('c', 1, untyped({ options: { ownr: 'a' } })),
    "step 'print'.ownr",
    'owner',
  ],
  ['chain.resume', () => mill.chains.print.resume('c', untyped({ frm: 'print' })), 'frm', 'from'],
  ['chain.list', () => mill.chains.print.list(untyped({ limt: 1 })), 'limt', 'limit'],
  [
    'collector.add',
    () => mill.collectors.lines.add('a', untyped({ widow: '1s' })),
    'widow',
    'window',
  ],
  ['collector.list', () => mill.collectors.lines.list(untyped({ limt: 1 })), 'limt', 'limit'],
  ['schedule.pause', () => mill.schedules.hourly.pause(untyped({ bye: 'a' })), 'bye', 'by'],
  [
    'switches.hold',
    () => mill.switches.hold({ name: 'X' }, untyped({ by: 'a', fo: '1m' })),
    'fo',
    'for',
  ],
  [
    'switches.lift',
    () => mill.switches.lift({ name: 'X' }, untyped({ by: 'a', not: 'n' })),
    'not',
    'note',
  ],
  ['switches.history', () => mill.switches.history(untyped({ limt: 1 })), 'limt', 'limit'],
  ['alarms.history', () => mill.alarms.history(untyped({ alarms: 'x' })), 'alarms', 'alarm'],
  [
    'alarms.test',
    () => mill.alarms.test('x', untyped({ state: 'OK', by: 'a', resaon: 'r' })),
    'resaon',
    'reason',
  ],
  ['metrics.minutes', () => mill.metrics.minutes('orders', untyped({ lst: '1h' })), 'lst', 'last'],
  [
    'metrics.prometheus',
    () => mill.metrics.prometheus(untyped({ perQueu: true })),
    'perQueu',
    'perQueue',
  ],
  ['inbox.list', () => mill.inbox('orders').list(untyped({ limt: 1 })), 'limt', 'limit'],
  ['inbox.claim', () => mill.inbox('orders').claim(untyped({ by: 'a', fr: '1m' })), 'fr', 'for'],
  [
    'inbox.renew',
    () => mill.inbox('orders').renew('1', untyped({ by: 'a', tokn: 1 })),
    'tokn',
    'token',
  ],
  [
    'inbox.resolve',
    () => mill.inbox('orders').resolve('1', untyped({ by: 'a', emit: [] })),
    'emit',
    'emits',
  ],
]

describe('an unknown option', () => {
  test.each(cases)('of %s is refused with a suggestion', async (_name, call, field, meant) => {
    const error = await Promise.resolve()
      .then(call)
      .then(
        () => assert.fail('it was accepted'),
        (reason: unknown) => reason,
      )
    assert(error instanceof MillraceError, String(error))
    assert.equal(error.code, 'invalid_argument')
    assert.equal(error.violations[0]?.field, field)
    assert.equal(error.violations[0]?.given, 'an unknown option')
    assert.match(error.message, new RegExp(`did you mean '${meant}'\\?$`))
  })

  test('stores nothing', async () => {
    const { ready, delayed } = await mill.queues.orders.statistics()
    assert.deepEqual([ready, delayed], [0, 0])
    assert.deepEqual((await mill.jobs.list('work')).items, [])
  })
})

test('options that are not an object are refused', async () => {
  await assert.rejects(mill.queues.orders.send(1, untyped([])), {
    code: 'invalid_argument',
    message: 'options: got an array, expected an object of options',
  })
})
