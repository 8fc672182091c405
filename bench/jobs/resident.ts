/** The memory of a worker process with the built package, after some time under load. */
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { buildPackage } from '../built-package.ts'
import { BenchChild, type Request } from '../child-process.ts'
import type { Row } from '../report.ts'
import { enqueueSteadily, jobsPerSecond, openBench, untilCompleted } from './app.ts'

type Library = 'valibot' | 'zod'

/** Comparing two schema libraries shows the share of the library. */
export async function residentRows(folder: string, seconds: number): Promise<readonly Row[]> {
  const entry = pathToFileURL(join(await buildPackage(folder), 'index.mjs')).href
  const what = `resident memory of a worker after ${seconds} s at ${jobsPerSecond} jobs/s`
  const measure = (library: Library): Promise<number> =>
    residentMegabytes({ entry, data: join(folder, library), library, seconds })
  const megabytes = await measure('valibot')
  return [
    {
      what: `${what}, schemas by valibot`,
      measured: `${Math.round(megabytes)} MB`,
      bar: 'under 120 MB',
      isMet: megabytes < 120,
    },
    { what: 'the same, schemas by zod', measured: `${Math.round(await measure('zod'))} MB` },
  ]
}

interface Resident {
  readonly entry: string
  readonly data: string
  readonly library: Library
  readonly seconds: number
}

async function residentMegabytes({ entry, data, library, seconds }: Resident): Promise<number> {
  const mill = await openBench(data)
  const file = new URL('./resident.child.mjs', import.meta.url)
  const child = new BenchChild<Request>(file, entry, data, library)
  const count = jobsPerSecond * seconds
  await enqueueSteadily(mill, count)
  await untilCompleted(mill, count)
  const megabytes = await child.ask<number>({ kind: 'resident' })
  await child.end()
  await mill.close()
  return megabytes
}
