/**
 * How other parts of the system start background work. Every method checks its payload, enqueues the job with
 * an idempotency key, and returns at once.
 */
import { randomUUID } from 'node:crypto'
import type { JobStatus, Logger } from 'millrace'
import type {
  AiTask,
  CreateNotification,
  IndexEntity,
  JobQueueMill,
  JobQueueName,
  OcrDocument,
  SendEmail,
} from './app.ts'
import { codeOf } from './open-mill.ts'

export interface EnqueueJobOptions {
  /** Calls with the same key, queue, type and owner return the same job. Without a key, every call creates one. */
  readonly idempotencyKey?: string
  /** The user who may read the job's status. */
  readonly owner?: string
}

export interface AcceptedJob {
  readonly job_id: string
  readonly status: JobStatus
}

export interface JobStatusView extends AcceptedJob {
  readonly attempts_made: number
  readonly max_attempts: number
  readonly created_at: string
  readonly started_at: string | null
  readonly finished_at: string | null
}

export class JobQueueService {
  readonly #mill: JobQueueMill
  readonly #log: Logger

  constructor(mill: JobQueueMill, log: Logger) {
    this.#mill = mill
    this.#log = log
  }

  enqueueOcrJob(payload: OcrDocument, options?: EnqueueJobOptions): Promise<AcceptedJob> {
    return this.#accept('ocr_queue', options, (settings) =>
      this.#mill.jobs.enqueue('ocr_queue', 'ocr_document', payload, settings),
    )
  }

  enqueueAiProcessingJob(payload: AiTask, options?: EnqueueJobOptions): Promise<AcceptedJob> {
    return this.#accept('ai_processing_queue', options, (settings) =>
      this.#mill.jobs.enqueue('ai_processing_queue', 'ai_task', payload, settings),
    )
  }

  enqueueIndexingJob(payload: IndexEntity, options?: EnqueueJobOptions): Promise<AcceptedJob> {
    return this.#accept('indexing_queue', options, (settings) =>
      this.#mill.jobs.enqueue('indexing_queue', 'index_entity', payload, settings),
    )
  }

  enqueueEmailJob(payload: SendEmail, options?: EnqueueJobOptions): Promise<AcceptedJob> {
    return this.#accept('email_queue', options, (settings) =>
      this.#mill.jobs.enqueue('email_queue', 'send_email', payload, settings),
    )
  }

  enqueueNotificationJob(
    payload: CreateNotification,
    options?: EnqueueJobOptions,
  ): Promise<AcceptedJob> {
    return this.#accept('notification_queue', options, (settings) =>
      this.#mill.jobs.enqueue('notification_queue', 'create_notification', payload, settings),
    )
  }

  /** Starts a course with its outline; the chains continue from there. */
  startCourseGeneration(courseId: string, owner: string): Promise<AcceptedJob> {
    const options = { owner, idempotencyKey: `outline:${courseId}` }
    return this.#accept('course_generation_queue', options, (settings) =>
      this.#mill.jobs.enqueue(
        'course_generation_queue',
        'outline',
        { course_id: courseId },
        settings,
      ),
    )
  }

  /** Undefined if the job does not exist. Payload and result are left out. */
  async getJobStatus(jobId: string): Promise<JobStatusView | undefined> {
    const job = await this.#mill.jobs.get(jobId)
    return (
      job && {
        job_id: job.id,
        status: job.status,
        attempts_made: job.attemptsMade,
        max_attempts: job.maxAttempts,
        created_at: new Date(job.createdAt).toISOString(),
        started_at: timeOf(job.startedAt),
        finished_at: timeOf(job.finishedAt),
      }
    )
  }

  async #accept(
    queue: JobQueueName,
    { idempotencyKey = randomUUID(), ...options }: EnqueueJobOptions = {},
    enqueue: (settings: EnqueueJobOptions) => Promise<{ status: string; id: string }>,
  ): Promise<AcceptedJob> {
    try {
      const { status, id } = await enqueue({ idempotencyKey, ...options })
      if (status === 'created') return { job_id: id, status: 'pending' }
      // Rows are kept forever, so this one can only be missing if it was deleted with SQL.
      const existing = await this.#mill.jobs.get(id)
      return { job_id: id, status: existing?.status ?? 'completed' }
    } catch (error) {
      this.#log.error({ queue, code: codeOf(error) }, 'enqueue failed')
      throw error
    }
  }
}

function timeOf(ms: number | null): string | null {
  return ms === null ? null : new Date(ms).toISOString()
}
