/**
 * Runs the demo with one command: creates the inputs, starts three workers as processes, submits jobs, lets
 * some fail, repairs and redrives them, and stops everything.
 */
import { mkdtemp } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Program } from '../shared/program.ts'
import { readEnvironment } from './environment.ts'
import { makeInputs } from './inputs/make-inputs.ts'
import { type OpenAcademy, openAcademy } from './open-academy.ts'
import { printerOf, shortId } from './print.ts'
import type { JobRecord } from './records.ts'
import * as scenario from './scenario.ts'
import { FfmpegMissing, requireFfmpeg } from './video/ffmpeg.ts'

const print = printerOf('academy')

try {
  await requireFfmpeg()
  await run()
} catch (error) {
  console.error(error instanceof FfmpegMissing ? error.message : error)
  process.exitCode = 1
}

async function run(): Promise<void> {
  const data = process.env['ACADEMY_DATA'] || (await mkdtemp(join(tmpdir(), 'millrace-academy-')))
  const variables = { ...process.env, ACADEMY_DATA: data }
  const academy = await openAcademy(readEnvironment(variables))
  if (academy.records.list().length > 0) {
    await academy.close()
    throw new Error('ACADEMY_DATA names a folder that was used before. Name an empty one.')
  }
  print(`the data folder is ${data}`)
  await makeInputs(academy.storage)
  print('drew a lesson, a page and an answer sheet')

  const start = (file: string, more: Readonly<Record<string, string>> = {}): Program =>
    new Program({
      command: [join(import.meta.dirname, file)],
      variables: { ...variables, ...more },
      onLine: (line) => console.log(line),
    })
  const workers = [
    start('video-worker.ts'),
    start('ai-worker.ts', { AI_WORKER_MODE: 'cpu' }),
    start('ai-worker.ts', { AI_WORKER_MODE: 'gpu' }),
  ]
  const stop = (): Promise<(number | null)[]> => Promise.all(workers.map((worker) => worker.stop()))
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    process.once(signal, () => void stop().then(() => process.exit(1)))
  }
  try {
    await play(academy)
  } finally {
    const codes = await stop()
    print(`stopped ${workers.length} workers, exit codes ${codes.join(', ')}`)
    await academy.close()
  }
  print(`the thumbnails are in ${academy.storage.path('thumbnails/tenant-1')}`)
}

async function play(academy: OpenAcademy): Promise<void> {
  const good = await scenario.submitGoodJobs(academy, print)
  await scenario.submitOmrToLite(academy, print)
  const bad = await scenario.submitBadJobs(academy, print)
  await scenario.waitForCompletion(academy, good)
  await scenario.sendLessonAgain(academy, print)
  await scenario.waitForDeadLetters(academy, print)
  await scenario.repairAndRedrive(academy, print)
  const records = await scenario.waitForCompletion(academy, [...good, ...bad])
  for (const record of records) print(summaryOf(record))
}

function summaryOf({ jobType, jobId, status, attempts }: JobRecord): string {
  const count = attempts === 1 ? 'one attempt' : `${attempts} attempts`
  return `${jobType} ${shortId(jobId)} is ${status} after ${count}`
}
