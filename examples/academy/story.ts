/** What happens at the academy in `main.ts`, step by step. Each step ends when it can be seen to be done. */
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

/** The jobs that work: one video, and every kind of AI job in its default tier or a chosen one. */
export async function submitGoodWork(academy: OpenAcademy, say: Say): Promise<readonly string[]> {
  const ids = [await submitVideo(academy, lesson)]
  say(`submitted VIDEO ${files.lesson} as ${ids[0]}`)
  const requests: readonly AiRequest[] = [
    { ...exam, jobType: 'OCR', fileKey: files.page },
    { ...exam, jobType: 'OMR', fileKey: files.sheet },
    { ...exam, jobType: 'STATUS_DETECTION', fileKey: files.sheet },
    { ...exam, jobType: 'OCR', fileKey: files.page, tier: 'premium' },
  ]
  for (const request of requests) ids.push(await submit(academy, request, say))
  return ids
}

/** Jobs whose files are not what they should be. */
export async function submitBadWork(academy: OpenAcademy, say: Say): Promise<readonly string[]> {
  const broken = { ...lesson, video_id: 124, file_key: files.broken }
  const video = await submitVideo(academy, broken)
  say(`submitted VIDEO ${files.broken} as ${video}: its upload broke off`)
  const wrongPage = { ...exam, jobType: 'OMR', fileKey: files.wrongPage } as const
  return [video, await submit(academy, wrongPage, say)]
}

/** The lite tier runs OCR alone, so this is refused before anything is stored. */
export async function askTooMuchOfLite(academy: OpenAcademy, say: Say): Promise<void> {
  try {
    await submitAiJob(academy, { ...exam, jobType: 'OMR', fileKey: files.sheet, tier: 'lite' })
  } catch (error) {
    if (!(error instanceof MillraceError)) throw error
    say(`refused OMR in the tier lite: ${error.message}`)
    return
  }
  throw new Error('The lite tier has accepted an OMR job.')
}

/** As a client does that got no answer. The worker finds the job done, and skips it. */
export async function sendLessonAgain(academy: OpenAcademy, say: Say): Promise<void> {
  const id = await submitVideo(academy, lesson)
  say(`submitted ${id} a second time`)
  const { video } = academy.mill.queues
  await until(async () => {
    const { ready, leased } = await video.statistics()
    return ready + leased === 0
  }, 'the second delivery has ended')
}

export async function waitForDeadLetters(academy: OpenAcademy, say: Say): Promise<void> {
  for (const { name, deadLetters } of queuesOf(academy)) {
    await until(async () => (await deadLetters.statistics()).ready > 0, `${name} has a dead letter`)
    for (const { deadLetterOrigin: deadLetter } of (await deadLetters.peek()).items) {
      say(`dead letter of ${name} in ${deadLetters.name}: ${deadLetter?.reason}`)
    }
  }
}

export async function repairAndReplay(academy: OpenAcademy, say: Say): Promise<void> {
  await repairInputs(academy.storage)
  say('the two files were uploaded again')
  for (const { name, deadLetters } of queuesOf(academy)) {
    const replay = await deadLetters.redrive({ perSecond: 10 })
    const { moved } = await replay.finished()
    say(`replayed ${moved} dead letter to ${name}`)
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

async function submit(academy: OpenAcademy, request: AiRequest, say: Say): Promise<string> {
  const { jobId, tier } = await submitAiJob(academy, request)
  say(`submitted ${request.jobType} ${request.fileKey} to the tier ${tier} as ${shortId(jobId)}`)
  return jobId
}

/** The two queues in which something dies. */
function queuesOf({ mill: { queues } }: OpenAcademy) {
  return [queues.video, queues.basic].flatMap(({ name, deadLetters }) =>
    deadLetters === null ? [] : [{ name, deadLetters }],
  )
}
