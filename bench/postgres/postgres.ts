/** Tracked jobs in a Postgres database, next to other job libraries on the same server. */
import { query } from '../../test/services/query.ts'
import { chosenGroups, type Groups } from '../groups.ts'
import type { BenchOptions } from '../main.ts'
import type { MeasuredDatabase, Report, Row } from '../report.ts'
import { type BacklogSize, backlogRows } from './backlog.ts'
import { Comparison } from './comparison.ts'
import { type CycleSize, cycleRows } from './cycle.ts'
import { type DiskSize, diskRows } from './disk.ts'
import { type EnqueueSize, enqueueRows } from './enqueue.ts'
import { libraryNames } from './job-library.ts'
import { type PickupSize, pickupRows } from './pickup.ts'
import { startPostgres } from './start-postgres.ts'
import { type WorkerSize, workerRows } from './worker.ts'

export async function benchPostgres({ isQuick, only }: BenchOptions): Promise<Report> {
  const size = isQuick ? quick : full
  const groups: Groups<Comparison> = {
    enqueue: (comparison) => enqueueRows(comparison, size.enqueue),
    worker: (comparison) => workerRows(comparison, size.worker),
    cycle: (comparison) => cycleRows(comparison, size.cycle),
    pickup: (comparison) => pickupRows(comparison, size.pickup),
    backlog: (comparison) => backlogRows(comparison, size.backlog),
    disk: (comparison) => diskRows(comparison, size.disk),
  }
  const chosen = chosenGroups(groups, only)
  const postgres = await startPostgres()
  if ('skipped' in postgres) throw new Error(postgres.skipped)
  const comparison = new Comparison(postgres)
  const rows: Row[] = []
  for (const group of chosen) rows.push(...(await group(comparison)))
  rows.push(comparison.attemptsRow())
  const database = await serverOf(postgres.url)
  const notes = [...(await settingsNotes(postgres.url)), ...notesOf(comparison, size)]
  await postgres.stop()
  return { title: 'Tracked jobs on Postgres', database, notes, rows }
}

interface Size {
  readonly enqueue: EnqueueSize
  readonly worker: WorkerSize
  readonly cycle: CycleSize
  readonly pickup: PickupSize
  readonly backlog: BacklogSize
  readonly disk: DiskSize
}

const full: Size = {
  enqueue: { rounds: 9, jobs: 20_000, ms: 1_000 },
  worker: { rounds: 9, jobs: 20_000, ms: 3_000 },
  cycle: { rounds: 9, jobs: 40_000, ms: 2_000 },
  pickup: { rounds: 5, idle: 200, loaded: 2_000 },
  backlog: { rounds: 9, jobs: 20_000, ms: 1_000, history: 1_000_000 },
  disk: { jobs: 1_000_000 },
}
const quick: Size = {
  enqueue: { rounds: 3, jobs: 5_000, ms: 200 },
  worker: { rounds: 3, jobs: 5_000, ms: 400 },
  cycle: { rounds: 1, jobs: 5_000, ms: 300 },
  pickup: { rounds: 1, idle: 20, loaded: 250 },
  backlog: { rounds: 1, jobs: 1_000, ms: 200, history: 3_000 },
  disk: { jobs: 3_000 },
}

function notesOf({ libraries }: Comparison, size: Size): readonly string[] {
  const versions = [...libraries].map(([library, version]) => `${library} ${version}`).join(', ')
  const missing = libraryNames.filter((library) => !libraries.has(library))
  const { enqueue, worker, cycle, pickup, backlog } = size
  return [
    `Libraries: ${versions}${missing.length > 0 ? `; not installed: ${missing.join(', ')}` : ''}`,
    'One server for all, on the same machine, through a Unix socket',
    'Each library has its own database and processes, and connections only while it is measured',
    'Payloads of 200 bytes, which Millrace validates by a schema; handlers do nothing',
    `Rates are medians of ${enqueue.rounds} rounds for enqueueing, ${worker.rounds} for workers, ${cycle.rounds} for life cycles and ${backlog.rounds} for backlogs`,
    'All contenders take turns within a round; a ratio is the median of the ratios of all rounds',
    'Millrace: default settings; a worker prefetches by itself while handlers are fast',
    'Millrace and pg-boss keep finished jobs; graphile-worker deletes them',
    'graphile-worker: localQueue of 500, completeJobBatchDelay and failJobBatchDelay 0',
    'graphile-worker: maxPoolSize of two more than its handlers, at least 10',
    'pg-boss: up to 50 connections; 10 workers (localConcurrency) with batches of 500',
    'pg-boss: burstWhenBatchFull, and a poll every 0.5 s without notifications, which would cost more',
    'pg-boss, for pickups: useListenNotify, and one worker with batches of up to 100',
    'Workers, full queue: from the first start of a handler until all jobs are finished in the database',
    'Workers, full queue: after a vacuum, so that autovacuum does not run during a measurement',
    'Enqueue and run: until all jobs are finished in the database',
    'Pickup: from the call of enqueue to the start of the handler, by the clock of the machine',
    'Pickup, in brackets: from the return of enqueue; negative if the handler has started before',
    `Pickup: ${pickup.rounds * pickup.idle} jobs on an idle system, ${pickup.rounds * pickup.loaded} under load; percentiles of all`,
    'Waiting and finished: databases of Millrace only, compared with one that was empty at first',
    'Waiting and finished: the worker runs three quarters of the jobs that were enqueued before it',
    'Disk space: tables with their indexes, after jobs that were enqueued and run by turns in slices of 20,000',
    'Disk space: dead rows are those that the server has not vacuumed yet (n_dead_tup)',
    'Worker rates: limited by the processor time of Node for each job, more than by the server',
    'Worker rates: include the start of the thread that keeps leases, which counts in a run of a second',
    'Pickup: a claim takes two round trips before the handler starts, graphile-worker takes one',
    'Lost: neither started nor waiting at the end. Repeated: started twice, or started and still waiting',
  ]
}

async function serverOf(url: string): Promise<MeasuredDatabase> {
  const { server_version: version, fsync, synchronous_commit: commit } = await settingsOf(url)
  return {
    version: `Postgres ${version}`,
    durability: `fsync = ${fsync}, synchronous_commit = ${commit}`,
  }
}

async function settingsNotes(url: string): Promise<readonly string[]> {
  const settings = await settingsOf(url)
  const note = (...names: readonly string[]): string =>
    `Server: ${names.map((name) => `${name} = ${settings[name]}`).join(', ')}`
  return [
    note('shared_buffers', 'max_wal_size', 'checkpoint_timeout'),
    note('full_page_writes', 'wal_level', 'autovacuum', 'max_connections', 'lc_collate'),
  ]
}

async function settingsOf(url: string): Promise<Readonly<Record<string, string>>> {
  const settings = await query<{ readonly name: string; readonly setting: string }>(url, 'SHOW ALL')
  return Object.fromEntries(settings.map(({ name, setting }) => [name, setting]))
}
