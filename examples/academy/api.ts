/** What the academy's API server does with a request: it adds a job row and enqueues the job. */
import { randomUUID } from 'node:crypto'
import { type AiJob, type AiJobType, defaultTier, type TierName, type VideoJob } from './app.ts'
import type { OpenAcademy } from './open-academy.ts'

export interface AiRequest {
  readonly jobType: AiJobType
  readonly fileKey: string
  readonly tenantId: number
  readonly sourceDomain: string
  readonly sourceId: string
  /** Default: the default tier of the job type. */
  readonly tier?: TierName
}

export interface Submitted {
  /** The id of the academy's job row. */
  readonly jobId: string
  readonly tier: TierName
  /** The id of the Millrace job. */
  readonly queuedAs: string
}

type Queues = Pick<OpenAcademy, 'mill' | 'records'>

/** Rejects before anything is written if the tier does not allow the job type. */
export async function submitAiJob(
  { mill, records }: Queues,
  request: AiRequest,
): Promise<Submitted> {
  const { jobType, fileKey, tenantId, tier = defaultTier[jobType] } = request
  const job: AiJob = {
    job_id: randomUUID(),
    job_type: jobType,
    tier,
    payload: { file_key: fileKey },
    tenant_id: tenantId,
    source_domain: request.sourceDomain,
    source_id: request.sourceId,
    created_at: new Date().toISOString(),
    attempt: 0,
  }
  const { id } = await mill.jobs.enqueueByTier(jobType, job, {
    tier,
    tenant: `tenant-${tenantId}`,
    idempotencyKey: job.job_id,
  })
  // If a worker is faster, it has already added the row.
  records.add({ jobId: job.job_id, jobType })
  return { jobId: job.job_id, tier, queuedAs: id }
}

/** The id of the job row. A video has one row, even if it is submitted twice. */
export async function submitVideo({ mill, records }: Queues, video: VideoJob): Promise<string> {
  await mill.queues.video.send(video)
  const jobId = videoJobId(video)
  records.add({ jobId, jobType: 'VIDEO' })
  return jobId
}

export function videoJobId({ video_id }: VideoJob): string {
  return `video-${video_id}`
}
