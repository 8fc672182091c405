/**
 * `npm run bench -- engine`, `collectors`, `flows`, `jobs`, `sqs` or `writer`. Figures are printed beside a raw limit
 * measured in the same run, because machines differ and are noisy. `--write` keeps the report under
 * `docs/benchmarks/`; no figure in the docs is typed by hand.
 */
import { mkdirSync, writeFileSync } from 'node:fs'
import { parseArgs } from 'node:util'
import { benchCollectors } from './collectors/collectors.ts'
import { benchEngine } from './engine/engine.ts'
import { benchFlows } from './flows/flows.ts'
import { benchJobs } from './jobs/jobs.ts'
import { machineLines } from './machine.ts'
import { type Report, renderReport } from './report.ts'
import { benchSqs } from './sqs/sqs.ts'
import { benchWriter } from './writer/writer.ts'

const benches: Readonly<Record<string, (options: BenchOptions) => Promise<Report>>> = {
  collectors: benchCollectors,
  engine: benchEngine,
  flows: benchFlows,
  jobs: benchJobs,
  sqs: benchSqs,
  writer: benchWriter,
}

export interface BenchOptions {
  /** Fewer rounds and smaller backlogs, to see that the bench itself works. */
  readonly isQuick: boolean
}

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { quick: { type: 'boolean' }, write: { type: 'boolean' } },
})
const name = positionals[0] ?? ''
const bench = benches[name]
if (bench === undefined) {
  console.error(`Usage: npm run bench -- ${Object.keys(benches).join(' | ')} [--quick] [--write]`)
  process.exit(2)
}

const report = await bench({ isQuick: values.quick === true })
const text = renderReport(report, machineLines())
console.log(text)
if (values.write) {
  mkdirSync('docs/benchmarks', { recursive: true })
  writeFileSync(`docs/benchmarks/${name}.md`, text)
}
process.exitCode = report.rows.some((row) => row.isMet === false) ? 1 : 0
