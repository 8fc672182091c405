/** The steps of the demo. Each waits until its result is visible. */
import { MillraceError } from 'millrace'
import { until } from '../shared/until.ts'
import { type AiRequest, submitAiJob, submitVideo } from './api.ts'
import { files, repairInputs } from './inputs/make-inputs.ts'
import type { OpenAcademy } from './open-academy.ts'
import { shortId } from './print.ts'
import type { JobRecord } from './records.ts'

export type Say = (line: string) => void

const exam = { tenantId: 1, sourceDomain: 'exams', sourceId: '123' } as const

const lesson = { video_id: 123, file_key: files.lesson, tenant_code: 'hakwonplus' } as const

/** Jobs that succeed: one video, and every AI job type in its default tier or a chosen one. */
export async function submitGoodJobs(academy: OpenAcademy, print: Say): Promise<readonly string[]> {
  const ids = [await submitVideo(academy, lesson)]
  print(`submitted VIDEO ${files.lesson} as ${ids[0]}`)
  const requests: readonly AiRequest[] = [
    { ...exam, jobType: 'OCR', fileKey: files.page },
    { ...exam, jobType: 'OMR', fileKey: files.sheet },
    { ...exam, jobType: 'STATUS_DETECTION', fileKey: files.sheet },
    { ...exam, jobType: 'OCR', fileKey: files.page, tier: 'premium' },
  ]
  for (const request of requests) ids.push(await submit(academy, request, print))
  return ids
}

/** Jobs with bad files. */
export async function submitBadJobs(academy: OpenAcademy, print: Say): Promise<readonly string[]> {
  const broken = { ...lesson, video_id: 124, file_key: files.broken }
  const video = await submitVideo(academy, broken)
  print(`submitted VIDEO ${files.broken} as ${video}: its upload was interrupted`)
  const wrongPage = { ...exam, jobType: 'OMR', fileKey: files.wrongPage } as const
  return [video, await submit(academy, wrongPage, print)]
}

/** The lite tier allows only OCR, so this job is refused before anything is stored. */
export async function submitOmrToLite(academy: OpenAcademy, print: Say): Promise<void> {
  try {
    await submitAiJob(academy, { ...exam, jobType: 'OMR', fileKey: files.sheet, tier: 'lite' })
  } catch (error) {
    if (!(error instanceof MillraceError)) throw error
    print(`refused OMR in the lite tier: ${error.message}`)
    return
  }
  throw new Error('The lite tier accepted an OMR job.')
}

/** Like a client that got no response. The worker finds the job completed and skips it. */
export async function sendLessonAgain(academy: OpenAcademy, print: Say): Promise<void> {
  const id = await submitVideo(academy, lesson)
  print(`submitted ${id} a second time`)
  const { video } = academy.mill.queues
  await until(async () => {
    const { ready, leased } = await video.statistics()
    return ready + leased === 0
  }, 'the second delivery has ended')
}

export async function waitForDeadLetters(academy: OpenAcademy, print: Say): Promise<void> {
  for (const { name, deadLetters } of queuesOf(academy)) {
    await until(async () => (await deadLetters.statistics()).ready > 0, `${name} has a dead letter`)
    for (const { deadLetterOrigin: deadLetter } of (await deadLetters.peek()).items) {
      print(`dead letter of ${name} in ${deadLetters.name}: ${deadLetter?.reason}`)
    }
  }
}

export async function repairAndRedrive(academy: OpenAcademy, print: Say): Promise<void> {
  await repairInputs(academy.storage)
  print('uploaded the two files again')
  for (const { name, deadLetters } of queuesOf(academy)) {
    const redrive = await deadLetters.redrive({ perSecond: 10 })
    const { moved } = await redrive.finished()
    print(`redrove ${moved} dead letter to ${name}`)
  }
}

export async function waitForCompletion(
  { records }: OpenAcademy,
  ids: readonly string[],
): Promise<readonly JobRecord[]> {
  const isDone = (id: string): boolean => records.get(id)?.status === 'COMPLETED'
  await until(() => ids.every(isDone), 'every job is completed')
  return ids.flatMap((id) => records.get(id) ?? [])
}

async function submit(academy: OpenAcademy, request: AiRequest, print: Say): Promise<string> {
  const { jobId, tier } = await submitAiJob(academy, request)
  print(`submitted ${request.jobType} ${request.fileKey} to the ${tier} tier as ${shortId(jobId)}`)
  return jobId
}

/** The two queues with dead letters. */
function queuesOf({ mill: { queues } }: OpenAcademy) {
  return [queues.video, queues.basic].flatMap(({ name, deadLetters }) =>
    deadLetters === null ? [] : [{ name, deadLetters }],
  )
}
