/**
 * The six queues, the chains of course generation and the nightly clean-up. A payload contains only ids and a
 * few options. Content stays in the database and on disk, so jobs are small and contain no private data.
 */

import { chain, defineApp, type HandlerContext, jobs, type Mill, queue, schedule } from 'millrace'
import { z } from 'zod'
import type { QueueSettings } from './environment.ts'

/** Used as keys of the app, as names in the store, and in the URL that enqueues a job. */
export const jobQueueNames = [
  'ocr_queue',
  'ai_processing_queue',
  'indexing_queue',
  'email_queue',
  'notification_queue',
  'course_generation_queue',
] as const

const id = z.string().min(1).max(100)

const OcrDocument = z.strictObject({ document_id: id })
const AiTask = z.strictObject({ document_id: id, task: z.enum(['summary', 'keywords']) })
const IndexEntity = z.strictObject({ entity_type: z.literal('document'), entity_id: id })
const SendEmail = z.strictObject({
  to: z.email(),
  template: z.enum(['welcome', 'document_ready', 'course_ready']),
})
const CreateNotification = z.strictObject({
  user_id: id,
  kind: z.enum(['document_ready', 'course_ready', 'message']),
  entity_id: id.optional(),
})
const CourseStep = z.strictObject({ course_id: id })
const ModuleStep = z.strictObject({ course_id: id, module_id: id })
const CleanUp = z.strictObject({ at: z.iso.datetime() })

export type OcrDocument = z.infer<typeof OcrDocument>
export type AiTask = z.infer<typeof AiTask>
export type IndexEntity = z.infer<typeof IndexEntity>
export type SendEmail = z.infer<typeof SendEmail>
export type CreateNotification = z.infer<typeof CreateNotification>
export type CourseStep = z.infer<typeof CourseStep>
export type ModuleStep = z.infer<typeof ModuleStep>
export type CleanUp = z.infer<typeof CleanUp>

/** All steps take the same ids. Each reads from the database what earlier steps wrote. */
const sameModule = (_result: unknown, start: ModuleStep): ModuleStep => start
const sameCourse = (_result: unknown, start: CourseStep): CourseStep => start

function step<const Type extends string>(type: Type) {
  return { name: type, queue: 'course_generation_queue', type } as const
}

export type JobQueueApp = ReturnType<typeof jobQueueApp>
export type JobQueueMill = Mill<JobQueueApp>
export type Context = HandlerContext<JobQueueApp['queues'], JobQueueApp>
export type JobQueueName = (typeof jobQueueNames)[number]

export function jobQueueApp(settings: QueueSettings) {
  const policy = {
    attempts: settings.attempts,
    backoff: { from: { ms: settings.backoffMs } },
    visibilityTimeout: { ms: settings.leaseMs },
    // A job that does not start within a day fails, and its row says so.
    retention: '1d',
    maxMessageBytes: 4_096,
    deadLetter: { queue: 'dead_letters' },
    // The rows of finished jobs are the audit log.
    keepFinished: { completed: 'forever', failed: 'forever' },
  } as const
  return defineApp('job-queue', {
    queues: {
      ocr_queue: jobs({ ...policy, name: 'ocr_queue', types: { ocr_document: OcrDocument } }),
      ai_processing_queue: jobs({
        ...policy,
        name: 'ai_processing_queue',
        types: { ai_task: AiTask },
      }),
      indexing_queue: jobs({
        ...policy,
        name: 'indexing_queue',
        types: { index_entity: IndexEntity },
      }),
      email_queue: jobs({
        ...policy,
        name: 'email_queue',
        types: { send_email: { schema: SendEmail, personal: ['to'] } },
      }),
      notification_queue: jobs({
        ...policy,
        name: 'notification_queue',
        types: { create_notification: CreateNotification },
      }),
      course_generation_queue: jobs({
        ...policy,
        name: 'course_generation_queue',
        types: {
          outline: CourseStep,
          module_lessons: ModuleStep,
          module_exam: ModuleStep,
          final_exam: CourseStep,
          mastery_analysis: CourseStep,
        },
        // Both limits apply across all workers: how many courses run at once, and how often a step starts.
        concurrency: settings.courseConcurrency,
        rate: { max: 1, per: { ms: settings.courseLimiterMs } },
      }),
      maintenance_queue: jobs({
        ...policy,
        name: 'maintenance_queue',
        types: { clean_up: CleanUp },
      }),
      dead_letters: queue({ name: 'job_queue_dead_letters', retention: '14d' }),
    },
    // The outline decides how many modules a course has, so each module has its own chain, with the
    // module's id. Its last step starts the next chain, so a course runs one step at a time.
    chains: {
      module: chain({
        steps: [step('module_lessons'), { ...step('module_exam'), from: sameModule }],
      }),
      ending: chain({
        steps: [step('final_exam'), { ...step('mastery_analysis'), from: sameCourse }],
      }),
    },
    schedules: {
      nightly: schedule({
        cron: '0 3 * * *',
        timezone: settings.cleanupZone,
        job: { queue: 'maintenance_queue', type: 'clean_up' },
      }),
    },
  })
}
