/**
 * `npm run bench -- engine`, `collectors`, `flows`, `footprint`, `jobs`, `postgres`, `schedules`, `sqs` or `writer`.
 * Figures are printed beside a raw limit or a peer measured in the same run, because machines differ and are noisy.
 * `--write` saves the report in `docs/benchmarks/`; no figure in the docs is written by hand.
 */
import { mkdirSync, writeFileSync } from 'node:fs'
import { parseArgs } from 'node:util'
import { benchCollectors } from './collectors/collectors.ts'
import { benchEngine } from './engine/engine.ts'
import { benchFlows } from './flows/flows.ts'
import { benchFootprint } from './footprint/footprint.ts'
import { benchJobs } from './jobs/jobs.ts'
import { machineLines } from './machine.ts'
import { benchPostgres } from './postgres/postgres.ts'
import { type Report, renderReport } from './report.ts'
import { benchSchedules } from './schedules/schedules.ts'
import { benchSqs } from './sqs/sqs.ts'
import { benchWriter } from './writer/writer.ts'

const benches: Readonly<Record<string, (options: BenchOptions) => Promise<Report>>> = {
  collectors: benchCollectors,
  engine: benchEngine,
  flows: benchFlows,
  footprint: benchFootprint,
  jobs: benchJobs,
  postgres: benchPostgres,
  schedules: benchSchedules,
  sqs: benchSqs,
  writer: benchWriter,
}

export interface BenchOptions {
  /** Fewer rounds and smaller backlogs, to check that the benchmark itself works. */
  readonly isQuick: boolean
  /** Measures only one group of rows, in benchmarks that have groups. */
  readonly only?: string
  /** Makes `footprint` measure a fresh clone too, which downloads packages. */
  readonly isInstalling: boolean
}

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    only: { type: 'string' },
    quick: { type: 'boolean' },
    write: { type: 'boolean' },
    install: { type: 'boolean' },
  },
})
const name = positionals[0] ?? ''
const { only } = values
const bench = benches[name]
// A page is written as a whole, and only these benchmarks have groups.
const hasGroups = ['jobs', 'postgres'].includes(name)
if (bench === undefined || (only !== undefined && (!hasGroups || values.write))) {
  console.error(`Usage: npm run bench -- ${Object.keys(benches).join(' | ')} [--quick] [--write]
       npm run bench -- jobs | postgres --only <group> [--quick]
       npm run bench -- footprint [--install]`)
  process.exit(2)
}

const report = await bench({
  isQuick: values.quick === true,
  isInstalling: values.install === true,
  ...(only !== undefined && { only }),
})
const text = renderReport(report, machineLines(report.database))
console.log(text)
if (values.write) {
  mkdirSync('docs/benchmarks', { recursive: true })
  writeFileSync(`docs/benchmarks/${name}.md`, text)
}
process.exitCode = report.rows.some((row) => row.isMet === false) ? 1 : 0
