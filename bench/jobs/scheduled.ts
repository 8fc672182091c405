/** Enqueueing, processing and listing jobs in a queue that holds many jobs for next month. */

import { join } from 'node:path'
import { inTurns } from '../load.ts'
import { type Row, ratioRow } from '../report.ts'
import { type BenchMill, enqueueBulk, openBench, processJobs, timed, timedEnqueue } from './app.ts'

export interface ScheduledSize {
  readonly rounds: number
  readonly batch: number
  readonly scheduled: number
  readonly pages: number
}

type Rate = 'enqueue' | 'process' | 'list'
type Round = Readonly<Record<Rate | `${Rate}Scheduled`, number>>

const pageSize = 100

export async function scheduledRows(folder: string, size: ScheduledSize): Promise<readonly Row[]> {
  const { rounds: count, batch, scheduled, pages } = size
  const empty = await openBench(join(folder, 'empty'))
  const full = await openBench(join(folder, 'scheduled'))
  await enqueueBulk(full, scheduled, { delay: '30d' })
  const mills = [empty, full]
  const rounds: Round[] = []
  // The first round is a warm-up and does not count.
  for (let round = 0; round <= count; round += 1) {
    const enqueued = await inTurns(mills, round, (mill) => timedEnqueue(mill, batch, 100))
    const listed = await inTurns(mills, round, (mill) => timed(pages, () => list(mill, pages)))
    const processed = await inTurns(mills, round, (mill) => processJobs(mill, batch, 100))
    const [enqueue = 0, enqueueScheduled = 0] = enqueued
    const [listing = 0, listScheduled = 0] = listed
    const [processing = 0, processScheduled = 0] = processed
    if (round === 0) continue
    rounds.push({
      ...{ enqueue, enqueueScheduled, list: listing, listScheduled },
      ...{ process: processing, processScheduled },
    })
  }
  for (const mill of mills) await mill.close()
  return rowsOf(rounds, scheduled)
}

/** Pages of jobs that wait, newest first, as a console shows them. */
async function list(mill: BenchMill, pages: number): Promise<void> {
  let after: string | undefined
  for (let page = 0; page < pages; page += 1) {
    const { next } = await mill.jobs.list('bench', {
      ...{ status: 'pending', limit: pageSize },
      ...(after !== undefined && { after }),
    })
    after = next
  }
}

function rowsOf(rounds: readonly Round[], scheduled: number): readonly Row[] {
  const behind = `${scheduled.toLocaleString('en-US')} scheduled for next month`
  const row = (what: string, rate: Rate): Row =>
    ratioRow(rounds, `${what}, ${behind}`, [`${rate}Scheduled`, rate], 0.9, 'none scheduled')
  return [
    row('enqueue one by one, 100 in flight', 'enqueue'),
    row('claim + complete, 100 handlers at once', 'process'),
    row(`list pages of ${pageSize} pending jobs`, 'list'),
  ]
}
