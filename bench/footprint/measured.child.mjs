/**
 * One measured process: plain JavaScript on the built package, because type stripping takes memory. It prints one
 * line of JSON at the end, because printing costs too.
 */
import { setTimeout as sleep } from 'node:timers/promises'

const [kind, dist, data, option] = process.argv.slice(2)
const residentMb = () => process.memoryUsage.rss() / 2 ** 20

const kinds = {
  bare: () => ({ mb: residentMb() }),
  async import() {
    const startedMs = performance.now()
    const before = process.cpuUsage()
    await import(`${dist}/index.mjs`)
    const { user, system } = process.cpuUsage(before)
    return { ms: performance.now() - startedMs, cpuMs: (user + system) / 1_000, mb: residentMb() }
  },
  async idleWorker() {
    await startWorker({ concurrency: 10 })
    await sleep(3_000)
    return { mb: residentMb() }
  },
  async busyWorker() {
    const [concurrency, seconds] = option.split(',').map(Number)
    let done = 0
    await startWorker({ concurrency, handle: () => void done++ })
    await sleep(seconds * 1_000)
    return { mb: residentMb(), peakMb: process.resourceUsage().maxRSS / 2 ** 10, done }
  },
  async server() {
    const { serve } = await import(`${dist}/server.mjs`)
    await serve({ port: 0, data })
    await sleep(3_000)
    return { mb: residentMb() }
  },
}

/** A hand-written schema, because a schema library would add its own cost. */
async function startWorker({ concurrency, handle = () => undefined }) {
  const { defineApp, jobs, open } = await import(`${dist}/index.mjs`)
  const anything = {
    '~standard': { version: 1, vendor: 'bench', validate: (value) => ({ value }) },
  }
  const queues = { bench: jobs({ types: { OCR: anything }, name: 'bench' }) }
  const mill = await open(defineApp('bench', { queues }), { data })
  mill.worker({ poll: ['bench'], concurrency, handle: { OCR: handle } }).start()
}

const figures = await kinds[kind]()
process.stdout.write(`${JSON.stringify(figures)}\n`, () => process.exit())
