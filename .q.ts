import pg from 'pg'
import { startPostgresServer } from './test/services/postgres-server.ts'
import { openPostgres } from './src/backends/postgres/index.ts'
import { defineApp, jobs, open } from './src/index.ts'
import { z } from 'zod'
const app = defineApp('b', { queues: { work: jobs({ types: { Noop: z.object({ n: z.number() }) } }) } })
const server = await startPostgresServer({ durable: true })
const url = await server.createDatabase('q')
const { backend } = await openPostgres({ url })
const mill = await open(app, { backend })
const secs = Number(process.env.SECS ?? 2)
async function rate(name: string, flight: number, per: number, call: () => Promise<unknown>) {
  const end = performance.now() + secs * 1000
  const start = performance.now()
  const cpu = process.cpuUsage()
  let n = 0
  await Promise.all(Array.from({ length: flight }, async () => { while (performance.now() < end) { await call(); n += per } }))
  const took = (performance.now() - start) / 1000
  const used = process.cpuUsage(cpu)
  console.log(name, Math.round(n / took), '/s', ((used.user + used.system) / n).toFixed(1), 'us cpu each')
  return n
}
let total = 0
const one = () => mill.jobs.enqueue('work', 'Noop', { n: 1 })
const many = Array.from({ length: 1000 }, (_, n) => ({ type: 'Noop' as const, payload: { n } }))
const raw = new pg.Client({ connectionString: url }); await raw.connect()
await raw.query('create table raw (id bigserial primary key, body text)')
await rate('raw insert', 1, 1, () => raw.query({ name: 'x', text: 'insert into raw (body) values ($1)', values: ['{"n":1}'] }))
total += await rate('warm', 10, 1, one)
total += await rate('one in flight', 1, 1, one)
total += await rate('100 in flight', 100, 1, one)
total += await rate('bulk', 1, 1000, () => mill.jobs.enqueueMany('work', many as never))
for (const [concurrency, prefetch] of [[10, 200], [100, 400]] as const) {
  let done = 0
  const want = Number(process.env.JOBS ?? 20000)
  let resolve!: () => void
  const all = new Promise<void>((r) => { resolve = r })
  const worker = mill.worker({ poll: { work: { concurrency, prefetch } } as never, handle: { Noop: async () => { done += 1; if (done === want) resolve() } } as never })
  const start = performance.now(); const cpu = process.cpuUsage()
  worker.start()
  await all
  const took = (performance.now() - start) / 1000; const used = process.cpuUsage(cpu)
  console.log('process', concurrency, Math.round(want / took), '/s', ((used.user + used.system) / want).toFixed(1), 'us cpu each')
  await worker.stop()
}
await mill.close(); await backend.close(); await server.close()
