/** Tracked jobs, step by step and as a whole, beside the raw limit of the store they live in. */
import { statSync } from 'node:fs'
import { join } from 'node:path'
import { inScratchFolder } from '../load.ts'
import type { BenchOptions } from '../main.ts'
import type { Report, Row } from '../report.ts'
import { enqueueBulk, openBench } from './app.ts'
import { lifeCycleRows } from './life-cycle.ts'
import { pickupRows } from './pickup.ts'
import { residentRows } from './resident.ts'
import { stepRows } from './steps.ts'

export async function benchJobs({ isQuick }: BenchOptions): Promise<Report> {
  const steps = isQuick
    ? { rounds: 2, batch: 10_000, history: 20_000 }
    : { rounds: 9, batch: 20_000, history: 1_000_000 }
  const cycle = isQuick ? { rounds: 3, batch: 10_000 } : { rounds: 9, batch: 40_000 }
  const pickup = isQuick ? { idle: 100, loadSeconds: 3 } : { idle: 1_000, loadSeconds: 20 }
  return inScratchFolder(async (folder) => ({
    title: 'Tracked jobs in the embedded store',
    notes: [
      `Payloads of 200 bytes, checked by a schema; jobs with an owner; durable commits`,
      `Rates are medians: of ${cycle.rounds} rounds for the whole life of jobs, of ${steps.rounds} for single steps, in which all take turns`,
      'Raw: bare statements of node:sqlite on a table with one index, 100 a commit unless said otherwise',
      'Handlers do nothing; workers are those of the library, here or in a process of their own',
    ],
    rows: [
      ...(await lifeCycleRows(folder, cycle)),
      ...(await stepRows(folder, steps)),
      ...(await pickupRows(join(folder, 'pickup'), pickup)),
      ...(await residentRows(folder, pickup.loadSeconds)),
      await diskRow(folder, steps.batch),
    ],
  }))
}

async function diskRow(folder: string, count: number): Promise<Row> {
  const data = join(folder, 'disk')
  const mill = await openBench(data)
  await enqueueBulk(mill, count)
  const { storeFile } = mill
  // Closing writes the log back into the file.
  await mill.close()
  const bytes = statSync(storeFile ?? '').size / count
  return {
    what: 'disk space of a waiting job of 200 bytes',
    measured: `${Math.round(bytes)} bytes`,
    bar: 'under 600 bytes',
    isMet: bytes < 600,
  }
}
