/** What many jobs leave on the disk: dead rows, and the size of the tables. */
import { query } from '../../test/services/query.ts'
import type { Row } from '../report.ts'
import type { Comparison } from './comparison.ts'
import { finishJobs } from './finished-jobs.ts'
import type { LibraryName } from './job-library.ts'

export interface DiskSize {
  readonly jobs: number
}

interface Disk {
  readonly library: LibraryName
  readonly tables: readonly Table[]
}

interface Table {
  readonly name: string
  /** With its indexes. */
  readonly bytes: number
  /** By the statistics of the server. */
  readonly dead: number
}

/** An empty table with its indexes is smaller. */
const listedBytesMin = 100_000

export async function diskRows(
  comparison: Comparison,
  { jobs }: DiskSize,
): Promise<readonly Row[]> {
  const disks = await comparison.withLibraries({ database: 'disk' }, async (contenders) => {
    const measured: Disk[] = []
    for (const contender of contenders) {
      await contender.whileOpen(() => finishJobs(contender, jobs))
      measured.push({ library: contender.library, tables: await tablesOf(contender.url) })
    }
    return measured
  })
  const [ours, ...theirs] = disks.map((disk) => ({ ...disk, space: spaceOf(disk, jobs) }))
  if (ours === undefined) throw new Error('Millrace did not take part.')
  const after = `after ${formatCount(jobs)} jobs`
  const listed = ours.tables.filter(({ bytes }) => bytes >= listedBytesMin)
  return [
    {
      what: `disk space ${after}`,
      measured: ours.space,
      beside: theirs.map(({ library, space }) => `${library} ${space}`).join('; '),
    },
    ...listed.map(({ name, bytes, dead }) => ({
      what: `table ${name} ${after}`,
      measured: `${formatMegabytes(bytes)}, ${formatCount(dead)} dead rows`,
    })),
  ]
}

/** The largest first. */
async function tablesOf(url: string): Promise<readonly Table[]> {
  // A connection reports what it has changed when it ends.
  for (let others = 1; others > 0; ) {
    const [row] = await query<{ readonly others: number }>(url, otherConnections)
    others = row?.others ?? 0
  }
  return query<Table & Record<string, unknown>>(url, tableSizes)
}

const otherConnections = `
  SELECT CAST(count(*) AS integer) AS others FROM pg_stat_activity
  WHERE datname = current_database() AND backend_type = 'client backend' AND pid <> pg_backend_pid()`

/** As numbers, because the driver returns large integers as text. */
const tableSizes = `
  SELECT relname AS name, CAST(pg_total_relation_size(relid) AS double precision) AS bytes,
    CAST(n_dead_tup AS double precision) AS dead
  FROM pg_stat_user_tables ORDER BY bytes DESC`

function spaceOf({ tables }: Disk, jobs: number): string {
  const sum = (field: 'bytes' | 'dead'): number =>
    tables.reduce((total, table) => total + table[field], 0)
  const perJob = Math.round(sum('bytes') / jobs)
  return `${formatMegabytes(sum('bytes'))}, ${perJob} bytes a job, ${formatCount(sum('dead'))} dead rows`
}

function formatMegabytes(bytes: number): string {
  return `${(bytes / 2 ** 20).toFixed(1)} MiB`
}

function formatCount(count: number): string {
  return count.toLocaleString('en-US')
}
