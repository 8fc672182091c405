/** What a worker process occupies: one that runs the built package, after some time under load. */
import { spawnSync } from 'node:child_process'
import { copyFileSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { BenchChild, type Request } from '../child-process.ts'
import type { Row } from '../report.ts'
import { enqueueSteadily, jobsPerSecond, openBench, untilCompleted } from './app.ts'

const root = fileURLToPath(new URL('../..', import.meta.url))

type Library = 'valibot' | 'zod'

/** How much of it is the schema library's is seen by comparing two of them. */
export async function residentRows(folder: string, seconds: number): Promise<readonly Row[]> {
  const entry = buildPackage(join(folder, 'dist'))
  // The package looks for its version, and for what it depends on, beside it.
  copyFileSync(join(root, 'package.json'), join(folder, 'package.json'))
  symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'))
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

/** Answers the address of its entry. */
function buildPackage(dist: string): string {
  const tsc = join(root, 'node_modules/typescript/bin/tsc')
  const build = [tsc, '-p', 'tsconfig.build.json', '--outDir', dist]
  const { status } = spawnSync(process.execPath, build, { cwd: root, stdio: 'inherit' })
  if (status !== 0) throw new Error('The package could not be built.')
  return pathToFileURL(join(dist, 'index.js')).href
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
