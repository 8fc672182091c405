/**
 * What Millrace costs a process: import time, memory of a worker and of a server, and with `--install` what
 * `npm start` installs in a fresh clone. A bare Node process is measured in the same run.
 */
import { join } from 'node:path'
import { buildPackage } from '../built-package.ts'
import { enqueueBulk, openBench } from '../jobs/app.ts'
import { inScratchFolder } from '../load.ts'
import type { BenchOptions } from '../main.ts'
import { formatMs, formatRate, perSecond, type Report, type Row } from '../report.ts'
import { installRows } from './install.ts'
import { type Figures, type Kind, measure, measureOften } from './measure.ts'

const importMsMax = 100
const importMbMax = 15
const idleWorkerMbMax = 85
const busyWorkerMbMax = 130
const serverMbMax = 100

export async function benchFootprint({ isQuick, isInstalling }: BenchOptions): Promise<Report> {
  const rounds = isQuick ? 3 : 9
  const seconds = isQuick ? 5 : 60
  return inScratchFolder(async (folder) => {
    const dist = await buildPackage(folder)
    const often = (kind: Kind): Promise<Figures> =>
      measureOften({ kind, dist, data: join(folder, kind) }, rounds)
    const bare = await often('bare')
    const beside = `bare Node ${formatMb(bare.mb)}`
    const imported = await often('import')
    const rows: Row[] = [
      {
        what: "import 'millrace', time",
        measured: formatMs(imported.ms),
        beside: `CPU ${formatMs(imported.cpuMs)}`,
        bar: `at most ${importMsMax} ms`,
        isMet: imported.ms <= importMsMax,
      },
      {
        what: "import 'millrace', resident memory",
        measured: formatMb(imported.mb),
        beside: `${beside}: + ${formatMb(imported.mb - bare.mb)}`,
        bar: `at most + ${formatMb(importMbMax)}`,
        isMet: imported.mb - bare.mb <= importMbMax,
      },
      memoryRow('idle worker', (await often('idleWorker')).mb, idleWorkerMbMax, beside),
    ]
    for (const concurrency of [1, 10, 100]) {
      const data = join(folder, `busy-${concurrency}`)
      const busy = await measureBusy({ dist, data, concurrency, seconds })
      const what = `worker after ${seconds} s of no-op jobs at full speed, ${concurrency} at once`
      const rate = `${formatRate(perSecond(busy.done, seconds * 1_000))}, peak ${formatMb(busy.peakMb)}`
      rows.push(memoryRow(what, busy.mb, busyWorkerMbMax, `${beside}; ${rate}`))
    }
    rows.push(memoryRow('idle server', (await often('server')).mb, serverMbMax, beside))
    if (isInstalling) rows.push(...(await installRows()))
    return {
      title: 'Footprint',
      notes: [
        `The built package, in fresh processes: the median of ${rounds}, or a single run for a busy worker`,
        'Resident memory as reported by the process; idle means three seconds after the start',
        'Schemas are written by hand; a schema library adds its own cost',
      ],
      rows,
    }
  })
}

interface Busy {
  readonly dist: string
  readonly data: string
  readonly concurrency: number
  readonly seconds: number
}

/** This process keeps the queue full during the measurement. */
async function measureBusy({ dist, data, concurrency, seconds }: Busy): Promise<Figures> {
  const waitingMin = 20_000
  const mill = await openBench(data)
  await enqueueBulk(mill, waitingMin)
  let isOver = false
  const measured = measure({
    kind: 'busyWorker',
    dist,
    data,
    option: `${concurrency},${seconds}`,
  }).finally(() => {
    isOver = true
  })
  while (!isOver) {
    const { ready } = await mill.queues.bench.statistics()
    if (ready < waitingMin) await enqueueBulk(mill, 5_000)
    else await new Promise((resolve) => setTimeout(resolve, 20))
  }
  const figures = await measured
  await mill.close()
  return figures
}

function memoryRow(what: string, mb: number, mbMax: number, beside: string): Row {
  return {
    what: `${what}, resident memory`,
    measured: formatMb(mb),
    beside,
    bar: `at most ${formatMb(mbMax)}`,
    isMet: mb <= mbMax,
  }
}

function formatMb(mb: number): string {
  return `${Math.round(mb)} MB`
}
