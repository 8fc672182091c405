/** A schedule: sends messages and jobs by interval or cron. Each tick fires once across all processes. */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { defineApp, jobs, open, queue, schedule } from 'millrace'
import { z } from 'zod'

const app = defineApp('first-schedule', {
  queues: {
    heartbeat: queue({ schema: z.object({ at: z.iso.datetime() }) }),
    reports: jobs({ types: { REPORT: z.object({ day: z.string() }) } }),
  },
  schedules: {
    // Ticks are at whole seconds, so that all processes agree on them.
    everySecond: schedule({ every: '1s', send: { queue: 'heartbeat' } }),
    nightly: schedule({
      cron: '30 2 * * *',
      timezone: 'Europe/Berlin',
      job: { queue: 'reports', type: 'REPORT' },
      payload: ({ at }) => ({ day: at.toISOString().slice(0, 10) }),
    }),
  },
})

// A temporary folder, so that each run starts empty. Without `data` the store is in `.millrace/`.
const data = await mkdtemp(join(tmpdir(), 'millrace-first-'))
const mill = await open(app, { data })
const { everySecond, nightly } = mill.schedules

const thirdTick = Promise.withResolvers<void>()
let ticks = 0

const worker = mill.worker({
  poll: ['heartbeat', 'reports'],
  handle: {
    heartbeat: ({ at }) => {
      ticks += 1
      console.log(`Tick ${ticks} at ${at}`)
      if (ticks === 3) thirdTick.resolve()
    },
    REPORT: ({ day }) => {
      console.log(`Wrote the report for ${day}.`)
    },
  },
})
worker.start()
await thirdTick.promise

// Pauses it in all processes until `resume`.
await everySecond.pause({ by: 'anna' })
console.log(`Paused by ${(await everySecond.read()).pausedBy}.`)

const [next] = await nightly.next()
console.log(`The next nightly report is due at ${next?.toISOString()}.`)

// Runs it now. The next tick at night is still due.
await mill.jobs.waitFor(await nightly.runNow({ by: 'anna' }))

await mill.close()
await rm(data, { recursive: true })
