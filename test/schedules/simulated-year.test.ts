/**
 * A year in four time zones, with every change to and from daylight saving time. Two processes run, and one
 * or the other is restarted again and again. Each tick must happen exactly once.
 */
import assert from 'node:assert/strict'
import { onTestFinished, test } from 'vitest'
import { type Mill, open } from '../../src/app/open.ts'
import type { Backend } from '../../src/backends/backend.ts'
import { openSqlite } from '../../src/backends/sqlite/index.ts'
import { defineApp } from '../../src/contracts/define-app.ts'
import { fifo } from '../../src/contracts/queue-declaration.ts'
import { schedule } from '../../src/contracts/schedule-declaration.ts'
import { virtualPorts } from '../../src/testing/virtual-clock.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { cronOf, expectedMultiples, expectedTicks, type LocalRule } from './local-times.ts'

const hourMs = 3_600_000
const start = Date.UTC(2026, 0, 1)
const end = Date.UTC(2027, 0, 1)
const stepMs = 12 * hourMs
const stepsPerRestart = 9
const stepsPerCount = 4

const timezones = ['UTC', 'Europe/Berlin', 'America/New_York', 'Australia/Lord_Howe']

/** Once a day in hours that are missing or repeated, and more often. */
const hours: readonly Omit<LocalRule, 'timezone'>[] = [
  { hours: [2], minutes: [15] },
  { hours: [1], minutes: [45] },
  { hours: [1, 2, 3], minutes: [0, 30] },
]

const rules = timezones.flatMap((timezone) => hours.map((one) => ({ ...one, timezone })))
const crons = rules.map((rule, index) => ({ rule, key: `cron${index}` }))
const everyHours = 6

const target = { send: { queue: 'ticks' }, missed: 'all' } as const
const timings = [
  ...crons.map(({ rule, key }) => ({
    ...{ key, timing: { cron: cronOf(rule), timezone: rule.timezone } },
  })),
  { key: 'every', timing: { every: `${everyHours}h` as const } },
]

const app = defineApp('year', {
  queues: { ticks: fifo({ retention: '14d' }) },
  schedules: Object.fromEntries(
    timings.map(({ key, timing }) => [key, schedule({ ...timing, ...target })]),
  ),
})

interface Process {
  readonly backend: Backend
  readonly mill: Mill<typeof app>
}

test('each tick of a year happens exactly once, declared or set at run time', async () => {
  const folder = await temporaryFolder('year')
  const ports = virtualPorts(1, { startAt: start })
  const { clock } = ports
  const started = async (): Promise<Process> => {
    const backend = await openSqlite({ file: folder.file('millrace.db'), ports })
    return { backend, mill: await open(app, { backend, ports }) }
  }
  const stopped = async ({ mill, backend }: Process): Promise<void> => {
    await mill.close()
    await backend.close()
  }
  const processes = [await started(), await started()]
  onTestFinished(async () => {
    for (const process of processes) await stopped(process)
    await folder.remove()
  })
  const [{ mill }] = processes as [Process, Process]
  await mill.schedules.setMany(
    timings.map(({ key, timing }) => ({ ...timing, ...target, name: `set/${key}` })),
  )

  const ticks = new Map<string, number[]>()
  const count = async ({ backend }: Process): Promise<void> => {
    const queue = 'year-dev-ticks.fifo'
    const { items, next } = await backend.peek({ queue, state: 'ready', limit: 1_000 })
    assert.equal(next, undefined)
    for (const { body, group } of items) {
      const times = ticks.get(group ?? '') ?? []
      times.push(Date.parse(JSON.parse(body).at))
      ticks.set(group ?? '', times)
    }
    await backend.purgeQueue({ queue })
  }

  for (let step = 1; start + step * stepMs <= end; step += 1) {
    clock.sleep(start + step * stepMs - clock.now() - 1_000)
    await clock.advance(1_000)
    // A schedule with several missed ticks sends one after the other.
    for (let turn = 0; turn < 4; turn += 1) await clock.advance(0)
    if (step % stepsPerRestart === 0) {
      const index = (step / stepsPerRestart) % 2
      await stopped(processes[index] as Process)
      processes[index] = await started()
    }
    if (step % stepsPerCount === 0) await count(processes[step % 2] as Process)
  }
  await count(processes[0] as Process)

  for (const prefix of ['', 'set/']) {
    for (const { rule, key } of crons) {
      const expected = expectedTicks(rule, start, end)
      assert.deepEqual(written(ticks.get(prefix + key)), written(expected), `${prefix}${key}`)
    }
    const expected = expectedMultiples(everyHours, start, end)
    assert.deepEqual(written(ticks.get(`${prefix}every`)), written(expected))
  }
})

/** In the order in which they were sent. */
function written(times: readonly number[] = []): readonly string[] {
  return times.map((time) => new Date(time).toISOString())
}
