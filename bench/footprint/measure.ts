/** Runs each measurement in fresh processes and takes the median. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import { median } from '../report.ts'

const child = fileURLToPath(new URL('./measured.child.mjs', import.meta.url))

export type Kind = 'bare' | 'import' | 'idleWorker' | 'busyWorker' | 'server'

export interface Measured {
  readonly kind: Kind
  /** The folder of the built package. */
  readonly dist: string
  readonly data: string
  readonly option?: string
}

export type Figures = Readonly<Record<'ms' | 'cpuMs' | 'mb' | 'peakMb' | 'done', number>>

/** The figures that the process printed. */
export async function measure({ kind, dist, data, option = '' }: Measured): Promise<Figures> {
  const run = spawn(process.execPath, [child, kind, dist, data, option], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const [output, [code]] = await Promise.all([text(run.stdout), once(run, 'exit')])
  if (code !== 0) throw new Error(`The measured process (${kind}) failed.`)
  return JSON.parse(output) as Figures
}

/** The median of each figure. */
export async function measureOften(measured: Measured, rounds: number): Promise<Figures> {
  const all: Figures[] = []
  for (let round = 0; round < rounds; round++) {
    all.push(await measure({ ...measured, data: `${measured.data}-${round}` }))
  }
  const of = (name: keyof Figures): number => median(all.map((figures) => figures[name]))
  return { ms: of('ms'), cpuMs: of('cpuMs'), mb: of('mb'), peakMb: of('peakMb'), done: of('done') }
}
